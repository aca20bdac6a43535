package runner

import "github.com/dalkkak/dkgraph/rules/shell"

// sigpipe is the status of a command that wrote to a reader that was gone.
const sigpipe = 128 + 13

// checkStatus is the status of what was checked: that of the whole plan, with the laundering undone. A failure is
// laundered when the command that checks failed and the form of the plan hides it: before the last stage of a pipe,
// in front of `|| echo`, or of `;`. It works on what was recorded, so nothing runs for it.
//
// Where no command of the plan checks anything, every one is taken to: laundering nothing is still laundering.
func checkStatus(p *shell.Plan, results []int) int {
	s := statuses{results: results, all: !holdsChecks(p)}
	status, hidden, _ := s.of(p)
	if hidden != 0 {
		return hidden
	}
	return status
}

// statuses walks a plan along the results of its execs.
type statuses struct {
	results []int
	all     bool // every exec counts as one that checks
}

// of gives the status a shell sees of a node, and the first failure hidden below it, 0 if none. ran is false when no
// exec of it was reached.
func (s *statuses) of(p *shell.Plan) (status, hidden int, ran bool) {
	switch p.Op {
	case shell.OpRun:
		status = s.results[0]
		s.results = s.results[1:]
		return max(status, 0), 0, status != notRun
	case shell.OpPipe:
		return s.pipe(p)
	case shell.OpNot:
		status, hidden, ran = s.of(&p.Kids[0])
		return negate(status), hidden, ran
	case shell.OpSub:
		return s.of(&p.Kids[0])
	}
	return s.list(p)
}

func (s *statuses) pipe(p *shell.Plan) (status, hidden int, ran bool) {
	for i := range p.Kids {
		st, _, did := s.of(&p.Kids[i])
		ran = ran || did
		status = st
		if i == len(p.Kids)-1 || !s.counts(&p.Kids[i]) || st == sigpipe {
			continue // a writer that lost its reader did not fail by itself
		}
		if hidden == 0 {
			hidden = st
		}
	}
	return status, hidden, ran
}

// list is of for nodes whose kids run one after the other.
func (s *statuses) list(p *shell.Plan) (status, hidden int, ran bool) {
	for i := range p.Kids {
		st, hid, did := s.of(&p.Kids[i])
		if !did {
			continue
		}
		switch {
		case !ran || status == 0:
		case p.Op == shell.OpOr && holdsChecks(&p.Kids[i]):
			hidden = 0 // a second check was made instead of the first, in the open
		case p.Op != shell.OpAnd && hidden == 0 && s.counts(&p.Kids[i-1]):
			hidden = status
		}
		if hidden == 0 {
			hidden = hid
		}
		status, ran = st, true
	}
	return status, hidden, ran
}

// counts says whether a failure of this node is one that must not be hidden.
func (s *statuses) counts(p *shell.Plan) bool { return s.all || holdsChecks(p) }

func holdsChecks(p *shell.Plan) bool {
	for _, x := range execs(p) {
		if x.Checks {
			return true
		}
	}
	return false
}

// filtersChecks says whether some command that checks writes into a pipe: what it wrote is then not what the plan
// puts out.
func filtersChecks(p *shell.Plan) bool {
	for i := range p.Kids {
		if p.Op == shell.OpPipe && i < len(p.Kids)-1 && holdsChecks(&p.Kids[i]) || filtersChecks(&p.Kids[i]) {
			return true
		}
	}
	return false
}
