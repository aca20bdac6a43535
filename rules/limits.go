package rules

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Bounds on a pack. A pack is code that may be hostile: what it can cost is bounded before it is ever evaluated, since an
// evaluation cannot be stopped and a clock must not decide.
const (
	maxRules     = 200
	maxVariables = 100
	maxTests     = 100 // of one rule

	maxExprSize    = 4096 // code points
	maxExprDepth   = 50
	maxCompNesting = 2
	maxConcats     = 64 // + that an expression evaluates, those of its variables included: doubling a text forty times would take all memory there is

	maxRegexBytes = 1 << 10
	maxRegexSize  = 1000 // instructions, about

	// In units of CEL's static cost model, for the largest facts there can be. One is up to 50 ns, and for texts far less.
	maxExprCost = 40_000_000  // of one expression for a whole command, all of its simple commands
	maxPackCost = 100_000_000 // of all expressions
)

// Sizes of the largest facts, for the cost model: texts in characters, lists in elements.
const (
	maxStreamText = 256 << 10 // of run.stdout.text
	maxCommand    = 64 << 10  // of all words of a command, braces expanded
	maxText       = 8 << 10
	maxWord       = 64  // codes and classes
	maxCallList   = 128 // of the text, and as many of scripts
	maxList       = 512
	maxParams     = 1000 // a list that was made
)

// sizes are those of facts that are unlike most of their type, by the end of their path.
var sizes = map[string]uint64{
	"stdout.text": maxStreamText, "stderr.text": maxStreamText, "claim.text": maxStreamText / 4,
	"command.calls": maxCallList, "run.stages": maxCallList, "run.expects": 2 * maxOutputs, "expect.output": maxOutputs,
	"run.highlights": 16, "run.files": 16, "call.effects": maxWord, "call.wrappers": maxWord, "call.redirs": maxWord,
	"call.env": maxWord, "calls.effects": maxWord, "calls.wrappers": maxWord, "calls.redirs": maxWord, "calls.env": maxWord,
}

// words are the members that hold a word out of a small set.
var words = []string{
	"what", "role", "place", "class", "kind", "eco", "op", "code", "check", "type", "effects", "framework", "signal", "path_kind", "fd",
}

// An estimator tells the cost model how large facts can be. The pack's own constants are as large as they are.
type estimator struct{ pack *Pack }

func atMost(n uint64) *checker.SizeEstimate { return &checker.SizeEstimate{Max: n} }

// EstimateSize implements checker.CostEstimator.
func (e estimator) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	path := slices.DeleteFunc(slices.Clone(n.Path()), func(s string) bool { return s == "@items" })
	isList := n.Type().Kind() == types.ListKind
	switch {
	case len(path) == 0 && isList: // of a list or a text that was made: never underestimate it
		return atMost(maxParams)
	case len(path) == 0:
		return atMost(maxStreamText)
	case path[0] == "files" && len(path) == 1 && isList:
		return atMost(16)
	case len(path) == 2 && isList && (path[0] == "params" || path[0] == "variables"):
		return atMost(e.pack.listSize(path[0], path[1]))
	case path[0] == "variables":
		return atMost(maxStreamText)
	}
	if len(path) > 1 {
		if size, ok := sizes[path[len(path)-2]+"."+path[len(path)-1]]; ok && (isList || path[len(path)-1] == "text") {
			return atMost(size)
		}
	}
	switch {
	case isList:
		return atMost(maxList)
	case slices.Contains(words, path[len(path)-1]):
		return atMost(maxWord)
	case path[0] == "call", path[0] == "command" && len(path) > 2:
		return atMost(maxCommand / maxList) // one may be longer, and then the others are shorter
	}
	return atMost(maxText)
}

// listSize is the number of elements of a param or a variable.
func (p *Pack) listSize(root, name string) uint64 {
	var v ref.Val
	if root == "params" {
		v = p.params.vals[p.params.typ.byName[name].index]
	} else {
		v = p.constants[p.variableType.byName[name].index]
	}
	if l, ok := v.(traits.Lister); ok {
		if n, ok := l.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return maxParams
}

// EstimateCallCost implements checker.CostEstimator.
func (e estimator) EstimateCallCost(function, _ string, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if target == nil || !slices.Contains([]string{"split", "join", "lowerAscii", "upperAscii", "trim", "reverse", "substring"}, function) {
		return nil
	}
	size := (*target).ComputedSize()
	if size == nil {
		size = e.EstimateSize(*target)
	}
	result := atMost(size.Max)
	if function == "join" {
		result = atMost(maxStreamText)
		if path := (*target).Path(); len(path) > 0 && (path[0] == "call" || path[0] == "command") {
			result = atMost(maxCommand)
		}
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Max: result.Max/10 + 1}, ResultSize: result}
}

// costOf is the most that an expression can cost, its variables aside.
func (c *compiler) costOf(ast *cel.Ast) uint64 {
	cost, err := c.env.EstimateCost(ast, estimator{c.pack})
	if err != nil {
		return math.MaxUint64
	}
	return cost.Max
}

// A fault is why an expression is refused, and where.
type fault struct {
	at   celast.Expr
	text string
}

// growing are functions whose result has no bound in the length of what they are given.
var growing = []string{"replace", "format", "quote"}

// unfit returns what keeps a checked expression from being used, nil if nothing does.
func unfit(rep *celast.AST) *fault {
	var found *fault
	celast.PreOrderVisit(rep.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if found != nil {
			return
		}
		switch x.Kind() {
		case celast.CallKind:
			found = unfitCall(x)
		case celast.StructKind:
			found = &fault{x, "a rule reads facts and makes none"}
		case celast.ComprehensionKind:
			if r := x.AsComprehension().IterRange(); rep.GetType(r.ID()).Kind() != types.ListKind {
				found = &fault{r, "the order of a map's entries is chance: go over a list"}
			}
		}
	}))
	return found
}

func unfitCall(x celast.Expr) *fault {
	c := x.AsCall()
	switch fn := c.FunctionName(); {
	case slices.Contains(growing, fn):
		return &fault{x, fn + " can build a text without end"}
	case fn == "dyn":
		return &fault{x, "dyn hides mistakes until it is too late"}
	case fn == "join":
		return unfitJoin(c.Target())
	case len(fn) > 3 && fn[:3] == "get" && len(c.Args()) > 0:
		return &fault{x, "time zones differ between machines: " + fn + " without one is in UTC"}
	}
	return nil
}

// unfitJoin: a join is as long as all of its elements, so these have to be of the facts: a list of facts, some of it, or texts
// made of its elements alone.
func unfitJoin(list celast.Expr) *fault {
	const text = "join takes a list of facts, and what map makes of its elements alone: anything else can build a text without end"
	if root, ok := chainRoot(list); ok && root != "params" && root != "variables" {
		return nil
	}
	if list.Kind() != celast.ComprehensionKind {
		return &fault{list, text}
	}
	c := list.AsComprehension()
	if f := unfitJoin(c.IterRange()); f != nil {
		return f
	}
	var found *fault
	for _, made := range elementsOf(c.LoopStep()) {
		celast.PostOrderVisit(made, celast.NewExprVisitor(func(x celast.Expr) {
			if x.Kind() == celast.IdentKind && slices.Contains(factRoots, x.AsIdent()) {
				found = &fault{x, text}
			}
		}))
	}
	return found
}

// elementsOf are the elements that the step of a map or a filter adds to its list.
func elementsOf(step celast.Expr) (out []celast.Expr) {
	switch function(step) {
	case operators.Conditional:
		for _, branch := range step.AsCall().Args()[1:] {
			out = append(out, elementsOf(branch)...)
		}
	case operators.Add:
		if added := step.AsCall().Args()[1]; added.Kind() == celast.ListKind {
			out = added.AsList().Elements()
		}
	}
	return out
}

// unfitRegexes looks at the patterns of a parsed expression, before anything compiles them. cel-go's own limit panics in this
// version.
func unfitRegexes(rep *celast.AST) *fault {
	var found *fault
	celast.PreOrderVisit(rep.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if found != nil || function(x) != "matches" || len(x.AsCall().Args()) == 0 {
			return
		}
		args := x.AsCall().Args()
		pattern := args[len(args)-1]
		if pattern.Kind() != celast.LiteralKind {
			found = &fault{pattern, "the pattern of matches has to be a text that stands there"}
			return
		}
		if s, ok := pattern.AsLiteral().(types.String); ok {
			if err := fitRegex(string(s)); err != nil {
				found = &fault{pattern, err.Error()}
			}
		}
	}))
	return found
}

func fitRegex(pattern string) error {
	if len(pattern) > maxRegexBytes {
		return fmt.Errorf("the pattern has %d bytes, the limit is %d", len(pattern), maxRegexBytes)
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the pattern of matches: %w", err)
	}
	if n := regexSize(re); n > maxRegexSize {
		return fmt.Errorf("the pattern makes a program of about %d steps, the limit is %d", n, maxRegexSize)
	}
	return nil
}

// regexSize is about the number of instructions, without making them: repetitions multiply.
func regexSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += regexSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Max, re.Min+1, 1)
	}
	return min(n, 1<<30)
}
