package rules

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"

	"github.com/dalkkak/dkgraph/events"
)

// Bounds on an explanation: values, bytes of one, variables within variables.
const (
	maxValues     = 10
	maxValueBytes = 200
	maxExplain    = 3
)

// factRoots are the names under which rules read facts.
var factRoots = []string{"claim", "command", "call", "run", "files", "params", "variables"}

// A Step is one line of an explanation: a part of the rule that decided, or a fact that such a part read.
type Step struct {
	Line  int    `json:"line"` // in the pack's file
	Col   int    `json:"col"`
	Expr  string `json:"expr"`
	Value string `json:"value"`
	Read  bool   `json:"read"` // a fact
	Depth int    `json:"depth"`
}

// Explain returns outcomes of s over f with their messages and the values that decided. Deciding does without them, for
// they cost more than the decision.
func (s *Ruleset) Explain(f Facts, outcomes []events.RuleOutcome) []events.RuleOutcome {
	out := slices.Clone(outcomes)
	frames := make(map[*Pack]*frame)
	for i := range out {
		m, r := s.rule(out[i].Rule)
		if r == nil || out[i].Outcome == OutcomeError {
			continue
		}
		if frames[m.Pack] == nil {
			frames[m.Pack] = newFrame(m.Pack, factsObject(&f))
		}
		fr := frames[m.Pack]
		fr.lookAt(out[i].Call)
		out[i].Message = r.say(fr)
		if n := out[i].Call; n > 0 && n <= len(f.Command.Calls) {
			out[i].Message = inScript(out[i].Message, f.Command.Calls[n-1])
		}
		out[i].Values = values(r.explain(fr, out[i].Outcome))
	}
	return out
}

// values are the facts of an explanation, as they are recorded.
func values(steps []Step) []string {
	var lines []string
	for _, s := range steps {
		line := s.Expr + " = " + s.Value
		if s.Read && !slices.Contains(lines, line) && len(lines) < maxValues {
			lines = append(lines, line)
		}
	}
	return lines
}

// explain evaluates a rule once more, keeping track of what it reads, and returns the smallest part that decided.
func (r *Rule) explain(f *frame, outcome string) []Step {
	e := &explaining{frame: f}
	if r.applies != nil && outcome != OutcomeMatch {
		e.expression(r.applies, 0)
	}
	if len(e.steps) == 0 || e.last == types.True {
		e.expression(r.when, 0)
	}
	return e.steps
}

// A tracker is a program that keeps the value of each part. It never shares a program with a cost limit: this version of
// cel-go ignores the limit then. Programs are safe for concurrent use.
type tracker struct {
	program cel.Program
	texts   map[int64]string // of the parts an explanation may name
}

func newTracker(e *expression) func() *tracker {
	return sync.OnceValue(func() *tracker {
		program, err := e.env.Program(e.ast, cel.EvalOptions(cel.OptTrackState))
		if err != nil {
			return nil
		}
		t := &tracker{program: program, texts: make(map[int64]string)}
		rep := e.ast.NativeRep()
		celast.PostOrderVisit(rep.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
			_, chain := chainRoot(x)
			if typ := rep.GetType(x.ID()); !chain && (typ == nil || !typ.IsExactType(types.BoolType)) {
				return
			}
			if text, err := parser.Unparse(x, rep.SourceInfo()); err == nil {
				t.texts[x.ID()] = text
			}
		}))
		return t
	})
}

// An explaining gathers the steps of one explanation.
type explaining struct {
	frame *frame
	steps []Step
	last  ref.Val // what the last expression gave
}

// expression explains one expression; depth counts variables within variables.
func (e *explaining) expression(x *expression, depth int) {
	t := x.tracker()
	if t == nil {
		return
	}
	v, details, _ := t.program.Eval(e.frame)
	if details == nil {
		return
	}
	e.last = v
	w := reader{explaining: e, expr: x, tracker: t, state: details.State(), depth: depth}
	w.decide(x.ast.NativeRep().Expr())
	if depth == maxExplain {
		return
	}
	for _, name := range w.variables {
		e.expression(e.frame.pack.variable(name).expr, depth+1)
	}
	e.last = v
}

// A reader walks one expression with the values its parts had.
type reader struct {
	*explaining
	expr      *expression
	tracker   *tracker
	state     interpreter.EvalState
	depth     int
	locals    []string // names of elements that decided
	variables []string
}

// decide goes down to the parts that made x what it is: of a false &&, the false operand.
func (w *reader) decide(x celast.Expr) {
	switch fn := function(x); fn {
	case operators.LogicalAnd:
		w.operands(x, types.False)
		return
	case operators.LogicalOr:
		w.operands(x, types.True)
		return
	case operators.LogicalNot:
		w.decide(x.AsCall().Args()[0])
		return
	case operators.Conditional:
		args := x.AsCall().Args()
		w.decide(args[0])
		if v, _ := w.state.Value(args[0].ID()); v == types.True {
			w.decide(args[1])
		} else {
			w.decide(args[2])
		}
		return
	}
	if _, ok := chainRoot(x); !ok {
		w.step(x, false)
	}
	if x.Kind() == celast.ComprehensionKind && w.witness(x) {
		return
	}
	w.reads(x)
}

// operands explains the operand of x that settled it, and all of them when none did alone.
func (w *reader) operands(x celast.Expr, settles ref.Val) {
	args := x.AsCall().Args()
	v, _ := w.state.Value(x.ID())
	for _, a := range args {
		got, ok := w.state.Value(a.ID())
		if ok && ((v == settles && got == settles) || (types.IsError(v) && types.IsError(got))) {
			w.decide(a)
			return
		}
	}
	for _, a := range args {
		w.decide(a)
	}
}

// witness explains an exists that is true and an all that is false by the element that made it so: the last one that was
// looked at.
func (w *reader) witness(x celast.Expr) bool {
	macro, ok := w.expr.ast.NativeRep().SourceInfo().GetMacroCall(x.ID())
	if !ok {
		return false
	}
	v, _ := w.state.Value(x.ID())
	name := macro.AsCall().FunctionName()
	if !(name == operators.Exists && v == types.True) && !(name == operators.All && v == types.False) {
		return false
	}
	c := x.AsComprehension()
	w.reads(c.IterRange())
	w.locals = append(w.locals, c.IterVar())
	if step := c.LoopStep(); step.Kind() == celast.CallKind {
		w.decide(step.AsCall().Args()[1])
	}
	return true
}

// reads goes down until it meets a whole chain of selections from a fact, such as run.stdout.text.
func (w *reader) reads(x celast.Expr) {
	if root, ok := chainRoot(x); ok {
		if root != "params" && (slices.Contains(factRoots, root) || slices.Contains(w.locals, root)) {
			w.note(x, root)
		}
		return
	}
	switch x.Kind() {
	case celast.SelectKind:
		w.reads(x.AsSelect().Operand())
	case celast.CallKind:
		c := x.AsCall()
		if c.IsMemberFunction() {
			w.reads(c.Target())
		}
		for _, a := range c.Args() {
			w.reads(a)
		}
	case celast.ListKind:
		for _, el := range x.AsList().Elements() {
			w.reads(el)
		}
	case celast.ComprehensionKind:
		w.reads(x.AsComprehension().IterRange())
		w.reads(x.AsComprehension().LoopStep())
	}
}

// chainRoot returns the name a chain of selections starts with; has() is one, too.
func chainRoot(x celast.Expr) (string, bool) {
	for x.Kind() == celast.SelectKind {
		x = x.AsSelect().Operand()
	}
	if x.Kind() == celast.IdentKind {
		return x.AsIdent(), true
	}
	return "", false
}

// function is the name of the function that x calls, "" if it calls none.
func function(x celast.Expr) string {
	if x.Kind() != celast.CallKind {
		return ""
	}
	return x.AsCall().FunctionName()
}

func (w *reader) note(x celast.Expr, root string) {
	if root == "variables" && x.Kind() == celast.SelectKind && x.AsSelect().Operand().Kind() == celast.IdentKind {
		w.variables = append(w.variables, x.AsSelect().FieldName())
	}
	w.step(x, true)
}

// step adds x and its value; what was never evaluated, for an operand before it settled the matter, is left out.
func (w *reader) step(x celast.Expr, read bool) {
	v, ok := w.state.Value(x.ID())
	text, named := w.tracker.texts[x.ID()]
	if !ok || !named {
		return
	}
	s := Step{Expr: text, Value: show(v), Read: read, Depth: w.depth}
	s.Line, s.Col = w.expr.place(x)
	w.steps = append(w.steps, s)
}

// show formats a value for people, cut to a line.
func show(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return fmt.Sprintf("%q", clip(string(v), maxValueBytes))
	case *object:
		return "{…}"
	case *types.Err:
		return "error: " + clip(oneLine(v.Error()), maxValueBytes)
	case traits.Lister:
		return showList(v)
	default:
		return clip(fmt.Sprint(v.Value()), maxValueBytes)
	}
}

func showList(l traits.Lister) string {
	n, _ := l.Size().(types.Int)
	items := make([]string, 0, n)
	for i := range n {
		item := l.Get(i)
		if _, ok := item.(*object); ok {
			return fmt.Sprintf("[%d items]", int64(n))
		}
		items = append(items, show(item))
	}
	return clip("["+strings.Join(items, ", ")+"]", maxValueBytes)
}

// clip cuts s to at most n bytes at a rune boundary and says that it did.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
