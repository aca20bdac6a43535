package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
)

// Bounds on an explanation: values, bytes of one, variables within variables.
const (
	maxValues     = 10
	maxValueBytes = 200
	maxExplain    = 3
)

// factRoots are the names under which rules read facts.
var factRoots = []string{"claim", "command", "call", "run", "files", "params", "variables"}

// explain evaluates a rule once more, keeping track of what it reads, and returns "expression = value" lines.
func (r *Rule) explain(f *frame) []string {
	var lines []string
	r.when.explain(f, maxExplain, &lines)
	return lines[:min(len(lines), maxValues)]
}

// explain never shares a program with a cost limit: this version of cel-go ignores the limit then.
func (e *expression) explain(f *frame, depth int, lines *[]string) {
	program, err := e.env.Program(e.ast, cel.EvalOptions(cel.OptTrackState))
	if err != nil {
		return
	}
	_, details, err := program.Eval(f)
	if err != nil || details == nil {
		return
	}
	w := reader{info: e.ast.NativeRep().SourceInfo(), state: details.State(), lines: lines}
	w.walk(e.ast.NativeRep().Expr())
	if depth == 0 {
		return
	}
	for _, name := range w.variables {
		f.pack.variables[f.pack.variableType.byName[name].index].expr.explain(f, depth-1, lines)
	}
}

// A reader lists the facts an evaluation read.
type reader struct {
	info      *celast.SourceInfo
	state     interpreter.EvalState
	lines     *[]string
	variables []string
}

// walk goes down until it meets a whole chain of selections from a fact, such as run.stdout.text.
func (w *reader) walk(x celast.Expr) {
	if root, ok := chainRoot(x); ok && slices.Contains(factRoots, root) {
		w.note(x, root)
		return
	}
	switch x.Kind() {
	case celast.SelectKind:
		if !x.AsSelect().IsTestOnly() {
			w.walk(x.AsSelect().Operand())
		}
	case celast.CallKind:
		c := x.AsCall()
		if c.IsMemberFunction() {
			w.walk(c.Target())
		}
		for _, a := range c.Args() {
			w.walk(a)
		}
	case celast.ListKind:
		for _, el := range x.AsList().Elements() {
			w.walk(el)
		}
	case celast.ComprehensionKind:
		w.walk(x.AsComprehension().IterRange())
		w.walk(x.AsComprehension().LoopStep())
	}
}

// chainRoot returns the name a chain of selections starts with.
func chainRoot(x celast.Expr) (string, bool) {
	for x.Kind() == celast.SelectKind && !x.AsSelect().IsTestOnly() {
		x = x.AsSelect().Operand()
	}
	if x.Kind() == celast.IdentKind {
		return x.AsIdent(), true
	}
	return "", false
}

func (w *reader) note(x celast.Expr, root string) {
	if root == "variables" && x.Kind() == celast.SelectKind && x.AsSelect().Operand().Kind() == celast.IdentKind {
		w.variables = append(w.variables, x.AsSelect().FieldName())
	}
	v, ok := w.state.Value(x.ID())
	if !ok {
		return // a short-circuited operand was never read
	}
	name, err := parser.Unparse(x, w.info)
	if err != nil || root == "params" {
		return
	}
	line := name + " = " + show(v)
	if !slices.Contains(*w.lines, line) {
		*w.lines = append(*w.lines, line)
	}
}

// show formats a value for people, cut to a line.
func show(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return fmt.Sprintf("%q", clip(string(v), maxValueBytes))
	case *object:
		return "{…}"
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
