package shell

// annotate marks the processes whose status the command is run for, and says whether that status is what comes out.
//
// A tool that checks is what a command is run for, wherever it stands; a tool that no table knows is taken for one, for a
// rule of somebody's own may allow it. Tools that only read count when nothing checks, and in a pipe only the last of them,
// which is the one whose status the pipe has.
func annotate(p *Plan, calls []Call) (vacuous, masks bool) {
	checking := func(e *Exec) bool {
		return calls[e.Call].Class == "check" || calls[e.Call].Class == "unknown"
	}
	some := false
	each(p, true, func(e *Exec, _ bool) { some = some || checking(e) })
	var checks []*Exec
	each(p, true, func(e *Exec, last bool) {
		if checking(e) || (!some && last && calls[e.Call].Class == "read") {
			e.Checks = true
			calls[e.Call].Verifies = true
			checks = append(checks, e)
		}
	})
	reached := map[*Exec]bool{}
	for _, e := range reach(p, calls) {
		reached[e] = true
	}
	for _, e := range checks {
		masks = masks || !reached[e]
	}
	return len(checks) == 0, masks
}

// each visits the processes in order; last is false for a stage of a pipe that is not its last.
func each(p *Plan, last bool, f func(*Exec, bool)) {
	if p.Op == OpRun {
		f(p.Exec, last)
		return
	}
	for i := range p.Kids {
		each(&p.Kids[i], last && (p.Op != OpPipe || i == len(p.Kids)-1), f)
	}
}

// reach lists the processes without whose success the whole does not succeed, and whose failure is its failure.
func reach(p *Plan, calls []Call) []*Exec {
	switch p.Op {
	case OpRun:
		return []*Exec{p.Exec}
	case OpAnd:
		var out []*Exec
		for i := range p.Kids {
			out = append(out, reach(&p.Kids[i], calls)...)
		}
		return out
	case OpOr:
		// A || B succeeds without A, unless B never does
		for i := range p.Kids[1:] {
			if !fails(&p.Kids[i+1], calls) {
				return nil
			}
		}
		return reach(&p.Kids[0], calls)
	case OpNot:
		var out []*Exec
		for _, e := range reach(&p.Kids[0], calls) {
			// the absence of something is a fact; the failure of a check is none
			if calls[e.Call].Class == "read" && p.Kids[0].Op == OpRun {
				out = append(out, e)
			}
		}
		return out
	case OpPipe, OpSeq, OpSub:
		return reach(&p.Kids[len(p.Kids)-1], calls)
	}
	return nil
}

// fails reports a plan that never succeeds.
func fails(p *Plan, calls []Call) bool {
	switch p.Op {
	case OpRun:
		return calls[p.Exec.Call].Name == "false" && calls[p.Exec.Call].PathKind == "bare"
	case OpAnd:
		for i := range p.Kids {
			if fails(&p.Kids[i], calls) {
				return true
			}
		}
	case OpSeq, OpSub, OpPipe:
		return fails(&p.Kids[len(p.Kids)-1], calls)
	}
	return false
}
