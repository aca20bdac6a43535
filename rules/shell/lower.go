package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A lowerer turns a syntax tree into a plan, and collects calls and refusals on the way.
type lowerer struct {
	src      string // the text the positions point into
	root     string // the repository's folder when it is known; "" knows only relative paths
	tab      *tables
	depth    int // of sh -c
	refusals []Refusal
	calls    []Call

	// Where the next command may run, relative to where the whole command starts. A cd that fails leaves the folder as it
	// was, so there is one set for success and one for failure of what was lowered last.
	ok, fail []string

	feed feed // what the stage before this one pipes into it

	proj     *project // nil when nothing is known of the project's scripts
	via      string   // the script that is being read; "" for the command itself
	prefix   string   // the folder that all others are relative to, when it is above the one the command starts in
	resolved []Call   // the calls of scripts that calls run
}

func (l *lowerer) refuse(r *Refusal) { l.refusals = append(l.refusals, *r) }

func (l *lowerer) refusal(code string, n syntax.Node) *Refusal {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	text := ""
	if from >= 0 && from <= to && to <= len(l.src) {
		text = l.src[from:to]
	}
	return &Refusal{Code: code, Line: int(n.Pos().Line()), Col: int(n.Pos().Col()), Word: shown(text)}
}

// parse reads text as bash. The parser is not trusted not to panic.
func parse(text string) (f *syntax.File, ref *Refusal) {
	defer func() {
		if r := recover(); r != nil {
			f, ref = nil, &Refusal{Code: "parser_panic", Line: 1, Col: 1, Word: shown(fmt.Sprint(r))}
		}
	}()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		ref = &Refusal{Code: "syntax", Line: 1, Col: 1, Word: shown(err.Error())}
		if pe, ok := err.(syntax.ParseError); ok {
			ref.Line, ref.Col, ref.Word = int(pe.Pos.Line()), int(pe.Pos.Col()), shown(pe.Text)
		}
		return nil, ref
	}
	return f, checkSize(f)
}

func checkSize(f *syntax.File) *Refusal {
	nodes, calls, depth, deepest := 0, 0, 0, 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		depth++
		deepest = max(deepest, depth)
		nodes++
		if _, ok := n.(*syntax.CallExpr); ok {
			calls++
		}
		return true
	})
	switch {
	case nodes > maxNodes:
		return &Refusal{Code: "too_complex", Line: 1, Col: 1, Word: fmt.Sprintf("%d nodes", nodes)}
	case calls > maxCalls:
		return &Refusal{Code: "too_many_calls", Line: 1, Col: 1, Word: fmt.Sprintf("%d calls", calls)}
	case deepest > 8*maxNesting:
		return &Refusal{Code: "too_deep", Line: 1, Col: 1, Word: fmt.Sprintf("%d levels", deepest)}
	}
	return nil
}

// program lowers a whole text: an optional `set -e` and a list of statements.
func (l *lowerer) program(f *syntax.File, opts shellOpts) (Plan, bool) {
	stmts := f.Stmts
	if len(stmts) > 0 {
		if set, ok := setOptions(stmts[0]); ok {
			opts.errexit = opts.errexit || set.errexit
			opts.pipefail = opts.pipefail || set.pipefail
			stmts = stmts[1:]
		}
	}
	if len(stmts) == 0 {
		l.refuse(&Refusal{Code: "empty", Line: 1, Col: 1})
		return Plan{}, false
	}
	p, ok := l.list(stmts)
	if !ok {
		return p, false
	}
	if opts.errexit && !exitsEarly(&p) {
		l.refuse(l.refusal("errexit", f))
		return p, false
	}
	if opts.pipefail && pipes(&p) {
		l.refuse(l.refusal("pipefail", f))
		return p, false
	}
	return p, true
}

// exitsEarly makes a sequence stop at its first failure, as under set -e. A list of && and a negation are exempt from
// set -e when they fail on the way, so a sequence with one of them has no plan.
func exitsEarly(p *Plan) bool {
	if p.Op != OpSeq {
		return true
	}
	for i := range p.Kids {
		last := i == len(p.Kids)-1
		if !last && p.Kids[i].Op != OpRun && p.Kids[i].Op != OpPipe {
			return false
		}
		if last && has(&p.Kids[i], OpSeq) {
			return false
		}
	}
	p.Op = OpAnd
	return true
}

func pipes(p *Plan) bool { return has(p, OpPipe) }

func has(p *Plan, op Op) bool {
	if p.Op == op {
		return true
	}
	for i := range p.Kids {
		if has(&p.Kids[i], op) {
			return true
		}
	}
	return false
}

// list lowers statements that follow each other.
func (l *lowerer) list(stmts []*syntax.Stmt) (Plan, bool) {
	if len(stmts) == 1 {
		return l.stmt(stmts[0])
	}
	out := Plan{Op: OpSeq}
	good := true
	for i, s := range stmts {
		if i > 0 {
			l.ok = union(l.ok, l.fail)
			l.fail = l.ok
		}
		p, ok := l.stmt(s)
		good = good && ok
		out.Kids = append(out.Kids, p)
	}
	return out, good
}

func (l *lowerer) stmt(s *syntax.Stmt) (Plan, bool) {
	switch {
	case s.Background:
		l.refuse(l.refusal("background", s))
		return Plan{}, false
	case s.Coprocess || s.Disown:
		l.refuse(l.refusal("coprocess", s))
		return Plan{}, false
	case s.Cmd == nil:
		l.refuse(l.refusal("redirect_only", s))
		return Plan{}, false
	}
	p, ok := l.command(s)
	if ok && s.Negated {
		l.ok, l.fail = l.fail, l.ok
		p = Plan{Op: OpNot, Kids: []Plan{p}}
	}
	return p, ok
}

// command is the closed switch: a kind of command that is not named here has no plan.
func (l *lowerer) command(s *syntax.Stmt) (Plan, bool) {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		acts, show, ok := l.redirects(s.Redirs)
		p, good := l.call(c, acts, show)
		return p, ok && good
	case *syntax.BinaryCmd:
		if len(s.Redirs) > 0 {
			break
		}
		switch c.Op {
		case syntax.Pipe, syntax.PipeAll:
			return l.pipe(s)
		case syntax.AndStmt:
			return l.both(c, OpAnd)
		case syntax.OrStmt:
			return l.both(c, OpOr)
		}
	case *syntax.Subshell:
		return l.group(s, c.Stmts, true)
	case *syntax.Block:
		return l.group(s, c.Stmts, false)
	case *syntax.TimeClause:
		return l.timed(s, c)
	case *syntax.IfClause:
		return l.no("if", s)
	case *syntax.WhileClause, *syntax.ForClause:
		return l.no("loop", s)
	case *syntax.CaseClause:
		return l.no("case", s)
	case *syntax.FuncDecl:
		return l.no("function", s)
	case *syntax.ArithmCmd, *syntax.LetClause:
		return l.no("arithmetic", s)
	case *syntax.TestClause:
		return l.no("test_clause", s)
	case *syntax.DeclClause:
		return l.no("declaration", s)
	case *syntax.CoprocClause:
		return l.no("coprocess", s)
	}
	return l.no("command_kind", s)
}

func (l *lowerer) no(code string, n syntax.Node) (Plan, bool) {
	l.refuse(l.refusal(code, n))
	return Plan{}, false
}

func (l *lowerer) both(c *syntax.BinaryCmd, op Op) (Plan, bool) {
	x, okX := l.stmt(c.X)
	okDirs, failDirs := l.ok, l.fail
	if op == OpOr {
		l.ok = l.fail
	}
	l.fail = l.ok
	y, okY := l.stmt(c.Y)
	if op == OpOr {
		l.ok = union(okDirs, l.ok)
	} else {
		l.fail = union(failDirs, l.fail)
	}
	out := Plan{Op: op}
	if x.Op == op {
		out.Kids = append(out.Kids, x.Kids...)
	} else {
		out.Kids = append(out.Kids, x)
	}
	out.Kids = append(out.Kids, y)
	return out, okX && okY
}

func (l *lowerer) group(s *syntax.Stmt, stmts []*syntax.Stmt, sub bool) (Plan, bool) {
	acts, show, good := l.redirects(s.Redirs)
	ok, fail, first := l.ok, l.fail, len(l.calls)
	p, done := l.list(stmts)
	for i := first; i < len(l.calls); i++ {
		l.calls[i].Redirs = append(append([]Redirect{}, show...), l.calls[i].Redirs...)
	}
	if sub {
		l.ok, l.fail = ok, fail
		p = Plan{Op: OpSub, Kids: []Plan{p}}
	}
	if !good || !done {
		return p, false
	}
	if !spread(&p, acts) {
		return l.no("redirect_group", s)
	}
	return p, true
}

func (l *lowerer) timed(s *syntax.Stmt, c *syntax.TimeClause) (Plan, bool) {
	if c.Stmt == nil || len(s.Redirs) > 0 {
		return l.no("time", s)
	}
	first := len(l.calls)
	p, ok := l.stmt(c.Stmt)
	for i := first; i < len(l.calls); i++ {
		l.calls[i].Wrappers = append([]string{"time"}, l.calls[i].Wrappers...)
	}
	return p, ok
}

// pipe lowers a pipeline. Its stages are processes: a group in a pipe has no plan unless it is a single process.
func (l *lowerer) pipe(s *syntax.Stmt) (Plan, bool) {
	ok, fail, outer := l.ok, l.fail, l.feed
	c := s.Cmd.(*syntax.BinaryCmd)
	stages, both := flatten(c, nil, nil)
	out, good := Plan{Op: OpPipe}, true
	for i, st := range stages {
		l.ok, l.fail = ok, ok
		p, done := l.stmt(st)
		l.feed = feed{}
		if done {
			p, done = l.stage(st, p)
		}
		if done && i+1 < len(stages) {
			l.feed = l.feedOf(p)
			if both[i] {
				p.Exec.Redirs = append(p.Exec.Redirs, FDAction{FD: 2, From: 1})
			}
		}
		good = good && done
		out.Kids = append(out.Kids, p)
	}
	l.ok, l.fail, l.feed = ok, fail, outer
	return out, good
}

func (l *lowerer) stage(st *syntax.Stmt, p Plan) (Plan, bool) {
	for p.Op == OpSub && len(p.Kids) == 1 {
		p = p.Kids[0]
	}
	if p.Op != OpRun {
		return l.no("pipe_group", st)
	}
	if p.Exec.Builtin == "cd" {
		return l.no("pipe_cd", st)
	}
	return p, true
}

// flatten lists the stages of a pipeline; both says which send fd 2 along as well.
func flatten(c *syntax.BinaryCmd, stages []*syntax.Stmt, both []bool) ([]*syntax.Stmt, []bool) {
	add := func(s *syntax.Stmt) {
		inner, ok := s.Cmd.(*syntax.BinaryCmd)
		if ok && (inner.Op == syntax.Pipe || inner.Op == syntax.PipeAll) && !s.Negated && !s.Background && len(s.Redirs) == 0 {
			stages, both = flatten(inner, stages, both)
			return
		}
		stages, both = append(stages, s), append(both, false)
	}
	add(c.X)
	both[len(both)-1] = c.Op == syntax.PipeAll
	add(c.Y)
	return stages, both
}

func union(a, b []string) []string {
	out := append([]string{}, a...)
	for _, d := range b {
		if !contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
