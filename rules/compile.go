package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"go.yaml.in/yaml/v3"
)

// An expression is a compiled CEL text.
type expression struct {
	text
	env      *cel.Env
	ast      *cel.Ast
	program  cel.Program
	tracker  func() *tracker
	source   *source
	constant bool // reads params alone
	usesCall bool // reads `call`, itself or through a variable
	roots    []string
	vars     []string // variables it names

	concats int    // + that it evaluates, through variables too
	cost    uint64 // the most that evaluating it can cost, its variables aside, for all the simple commands of a line
}

// A variable is a named expression of a pack, worked out at most once for each evaluation.
type variable struct {
	name string
	expr *expression
}

type compiler struct {
	d      *diagnoser
	pack   *Pack
	env    *cel.Env
	types  *provider
	source *source
	cost   uint64 // of all expressions
	byName map[string]*variable
}

func newCompiler(d *diagnoser, p *Pack) *compiler {
	p.variableType = newStructType("dk.Variables")
	paramType := newStructType("dk.Params")
	p.params = paramType.new()
	c := &compiler{d: d, pack: p, source: newSource(p.Source), byName: make(map[string]*variable)}
	c.types = &provider{Provider: builtinTypes(), own: map[string]*structType{
		"dk.Variables": p.variableType, "dk.Params": paramType,
	}}
	env, err := cel.NewCustomEnv(
		cel.StdLib(),
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),
		cel.CustomTypeProvider(c.types), // after OptionalTypes, which registers its type with the provider before it
		cel.EnableMacroCallTracking(),   // explanations are unparsed from the macro calls
		ext.Strings(ext.StringsVersion(4)),
		ext.Sets(ext.SetsVersion(1)),
		cel.ParserExpressionSizeLimit(maxExprSize),
		cel.ParserRecursionLimit(maxExprDepth),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals(),
			cel.ValidateComprehensionNestingLimit(maxCompNesting)),
		cel.Variable("claim", objectType("dk.Claim")),
		cel.Variable("command", objectType("dk.Command")),
		cel.Variable("call", objectType("dk.Call")),
		cel.Variable("run", objectType("dk.Run")),
		cel.Variable("files", types.NewListType(objectType("dk.File"))),
		cel.Variable("params", objectType("dk.Params")),
		cel.Variable("variables", objectType("dk.Variables")),
	)
	if err != nil {
		panic("internal error: " + err.Error()) // the options above are constant
	}
	c.env = env
	return c
}

func builtinTypes() types.Provider {
	reg, err := types.NewRegistry()
	if err == nil {
		err = reg.RegisterType(types.OptionalType)
	}
	if err != nil {
		panic("internal error: " + err.Error()) // nothing of it depends on input
	}
	return reg
}

func objectType(name string) *types.Type { return types.NewObjectType(name) }

// compileParams types the pack's params from their values, so that a misspelt one is an error at load.
func (c *compiler) compileParams(n *yaml.Node) {
	if n.Kind == 0 {
		return
	}
	if n.Kind != yaml.MappingNode {
		c.d.add(n.Line, n.Column, "", "params: want a mapping")
		return
	}
	t := c.types.own["dk.Params"]
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		typ, v, err := paramValue(val)
		if err != nil || !wordPattern.MatchString(key.Value) {
			c.d.add(val.Line, val.Column, "", "params.%s: want a name like this_one and a number, text, truth value or list of texts", key.Value)
			continue
		}
		t.add(key.Value, typ, func(*object) (ref.Val, error) { return v, nil })
	}
	// Params are constants: fill them now, so that a Pack is never written to again.
	c.pack.params = t.new()
	for _, f := range t.fields {
		c.pack.params.vals[f.index], _ = f.value(nil)
	}
}

func paramValue(n *yaml.Node) (*types.Type, ref.Val, error) {
	if n.Kind == yaml.SequenceNode {
		var list []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
				return nil, nil, fmt.Errorf("line %d: not a text", item.Line)
			}
			list = append(list, item.Value)
		}
		return types.NewListType(types.StringType), types.NewStringList(types.DefaultTypeAdapter, list), nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, nil, err
	}
	switch v := v.(type) {
	case string:
		return types.StringType, types.String(v), nil
	case bool:
		return types.BoolType, types.Bool(v), nil
	case int:
		return types.IntType, types.Int(v), nil
	}
	return nil, nil, fmt.Errorf("line %d: %T", n.Line, v)
}

// compileVariables compiles each variable in turn: it sees those above it.
func (c *compiler) compileVariables(files []variableFile) {
	if len(files) > maxVariables {
		c.d.add(1, 1, "", "the pack has %d variables, the limit is %d", len(files), maxVariables)
		return
	}
	for _, vf := range files {
		name := vf.Name.Text
		if !wordPattern.MatchString(name) || c.byName[name] != nil {
			c.d.add(vf.Name.Line, vf.Name.Col, "", "variable %q: want a new name like this_one", name)
			continue
		}
		expr := c.compile("variable "+name, vf.Expr, nil)
		if expr == nil {
			continue
		}
		v := &variable{name: name, expr: expr}
		c.byName[name] = v
		c.pack.variables = append(c.pack.variables, v)
		c.pack.variableType.add(name, expr.ast.OutputType(), func(o *object) (ref.Val, error) {
			return o.frame.pack.variable(name).expr.eval(o.frame)
		})
		c.pack.constants = append(c.pack.constants, c.constant(expr))
	}
}

// constant returns the value of an expression that reads nothing but params, nil for others and when it errs: it is worked
// out here, once, and not for every decision.
func (c *compiler) constant(e *expression) ref.Val {
	if !e.constant {
		return nil
	}
	v, err := e.eval(newFrame(c.pack, factsObject(&Facts{})))
	if err != nil {
		return nil
	}
	return v
}

func (c *compiler) compileRules(files []ruleFile) {
	if len(files) > maxRules {
		c.d.add(1, 1, "", "the pack has %d rules, the limit is %d", len(files), maxRules)
		return
	}
	seen := make(map[string]bool)
	for _, rf := range files {
		if !namePattern.MatchString(rf.ID.Text) || seen[rf.ID.Text] {
			c.d.add(max(rf.ID.Line, rf.When.Line), rf.ID.Col, rf.ID.Text, "id: %q is no name, or is there already", rf.ID.Text)
			continue
		}
		seen[rf.ID.Text] = true
		if r := c.compileRule(rf); r != nil {
			c.pack.Rules = append(c.pack.Rules, r)
		}
	}
}

func (c *compiler) compileRule(rf ruleFile) *Rule {
	before := len(c.d.list)
	r := &Rule{ID: rf.ID.Text, Phase: rf.Phase.Text, Effect: rf.Effect.Text, Kinds: rf.Kinds, Reason: rf.Reason.Text, Line: rf.ID.Line, Col: rf.ID.Col}
	c.checkShape(rf)
	r.when = c.compile(r.ID, rf.When, types.BoolType)
	if rf.Applies.Text != "" {
		r.applies = c.compile(r.ID, rf.Applies, types.BoolType)
	}
	if rf.Message.Text != "" {
		r.message = c.compile(r.ID, rf.Message, types.StringType)
	}
	if len(c.d.list) > before {
		return nil
	}
	c.lint(r)
	if len(rf.Tests) > maxTests {
		c.d.add(rf.ID.Line, rf.ID.Col, r.ID, "the rule has %d tests, the limit is %d", len(rf.Tests), maxTests)
		return nil
	}
	for _, tf := range rf.Tests {
		if t, ok := c.readTest(r.ID, tf); ok {
			r.Tests = append(r.Tests, t)
		}
	}
	var err error
	if r.Digest, err = c.ruleDigest(r); err != nil {
		c.d.add(rf.ID.Line, rf.ID.Col, r.ID, "%v", err)
	}
	return r
}

// checkShape checks the members of a rule that are plain words.
func (c *compiler) checkShape(rf ruleFile) {
	effects := map[string][]string{
		PhaseGate:  {EffectAllow, EffectDeny},
		PhaseJudge: {EffectRequire, EffectFail, EffectInconclusive},
	}
	allowed, ok := effects[rf.Phase.Text]
	if !ok {
		c.d.add(max(rf.Phase.Line, rf.ID.Line), rf.Phase.Col, rf.ID.Text, "phase: %q is neither gate nor judge", rf.Phase.Text)
	} else if !slices.Contains(allowed, rf.Effect.Text) {
		c.d.add(max(rf.Effect.Line, rf.ID.Line), rf.Effect.Col, rf.ID.Text, "effect: %q is none of %s", rf.Effect.Text, strings.Join(allowed, ", "))
	}
	if !wordPattern.MatchString(rf.Reason.Text) {
		c.d.add(max(rf.Reason.Line, rf.ID.Line), rf.Reason.Col, rf.ID.Text, "reason: %q is no code like_this", rf.Reason.Text)
	}
	if rf.When.Text == "" {
		c.d.add(rf.ID.Line, rf.ID.Col, rf.ID.Text, "when: is missing")
	}
}

// lint refuses rules that cannot mean what they seem to.
func (c *compiler) lint(r *Rule) {
	roots := c.allRoots(r.when)
	if r.applies != nil {
		roots = append(roots, c.allRoots(r.applies)...)
	}
	if r.Phase == PhaseGate && (slices.Contains(roots, "run") || slices.Contains(roots, "files")) {
		c.fault(r.ID, r.when.text, "the gate decides before anything ran: it cannot read run or files")
	}
	if r.Phase == PhaseJudge && r.when.usesCall {
		c.fault(r.ID, r.when.text, "call is for the gate; the judge reads command.calls")
	}
	if r.Effect == EffectRequire && !slices.Contains(roots, "run") && !slices.Contains(roots, "files") {
		c.fault(r.ID, r.when.text, "a require must read run or files: the agent's words are no evidence")
	}
}

// allRoots are the names an expression reads, through variables too.
func (c *compiler) allRoots(e *expression) []string {
	roots := slices.Clone(e.roots)
	for _, name := range e.vars {
		roots = append(roots, c.allRoots(c.byName[name].expr)...)
	}
	return roots
}

// compile compiles one expression of type want (nil: any), or adds diagnostics and returns nil.
func (c *compiler) compile(rule string, t text, want *types.Type) *expression {
	if t.Text == "" {
		return nil
	}
	ast, ok := c.check(rule, t)
	if !ok {
		return nil
	}
	if want != nil && !ast.OutputType().IsExactType(want) {
		c.fault(rule, t, "the expression gives %s, want %s", ast.OutputType(), want)
		return nil
	}
	program, err := c.env.Program(ast, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		c.fault(rule, t, "%v", err)
		return nil
	}
	e := &expression{text: t, env: c.env, ast: ast, program: program, source: c.source}
	e.tracker = newTracker(e)
	c.findNames(e)
	if e.cost = c.costOf(ast); e.usesCall {
		e.cost = multiply(e.cost, maxCallList)
	}
	c.cost += min(e.cost, maxPackCost)
	switch {
	case e.concats > maxConcats:
		c.fault(rule, t, "the expression can build a text without end: it joins %d by +, the limit is %d", e.concats, maxConcats)
	case e.cost > maxExprCost:
		c.fault(rule, t, "the expression can cost too much: %s, the limit is %d", costText(e.cost), maxExprCost)
	default:
		return e
	}
	return nil
}

// multiply stops at the largest number.
func multiply(a, b uint64) uint64 {
	if a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

func costText(cost uint64) string {
	if cost == math.MaxUint64 {
		return "without bound"
	}
	return fmt.Sprintf("%d units for the largest facts", cost)
}

// check parses and checks a text, or adds diagnostics. Patterns are looked at before anything compiles them.
func (c *compiler) check(rule string, t text) (*cel.Ast, bool) {
	if n := utf8.RuneCountInString(t.Text); n > maxExprSize {
		c.fault(rule, t, "the expression has %d characters, the limit is %d", n, maxExprSize)
		return nil, false
	}
	ast, iss := c.env.Parse(t.Text)
	if iss.Err() == nil {
		if f := unfitRegexes(ast.NativeRep()); f != nil {
			return nil, c.refuse(rule, t, ast, f)
		}
		ast, iss = c.env.Check(ast)
	}
	if iss.Err() != nil {
		for _, e := range iss.Errors() {
			line, col := c.source.ofError(t, e.Location)
			c.d.add(line, col, rule, "%s", strings.TrimSuffix(e.Message, " (in container '')"))
		}
		return nil, false
	}
	if f := unfit(ast.NativeRep()); f != nil {
		return nil, c.refuse(rule, t, ast, f)
	}
	return ast, true
}

// fault adds a diagnostic about a whole expression.
func (c *compiler) fault(rule string, t text, format string, args ...any) {
	line, col := c.source.at(t, 0)
	c.d.add(line, col, rule, format, args...)
}

func (c *compiler) refuse(rule string, t text, ast *cel.Ast, f *fault) bool {
	line, col := c.source.ofError(t, ast.NativeRep().SourceInfo().GetStartLocation(f.at.ID()))
	c.d.add(line, col, rule, "%s", f.text)
	return false
}

// findNames lists what an expression reads.
func (c *compiler) findNames(e *expression) {
	celast.PostOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		switch x.Kind() {
		case celast.IdentKind:
			name := x.AsIdent()
			if !slices.Contains(e.roots, name) {
				e.roots = append(e.roots, name)
			}
			e.usesCall = e.usesCall || name == "call"
		case celast.CallKind:
			if function(x) == operators.Add {
				e.concats++
			}
		case celast.SelectKind:
			s := x.AsSelect()
			if s.Operand().Kind() == celast.IdentKind && s.Operand().AsIdent() == "variables" {
				e.vars = append(e.vars, s.FieldName())
				if v := c.byName[s.FieldName()]; v != nil {
					e.usesCall = e.usesCall || v.expr.usesCall
					e.concats += v.expr.concats
				}
			}
		}
	}))
	e.constant = !slices.ContainsFunc(c.allRoots(e), func(root string) bool {
		return root != "params" && root != "variables" && slices.Contains(factRoots, root)
	})
	slices.Sort(e.roots)
	slices.Sort(e.vars)
	e.vars = slices.Compact(e.vars)
}

// place is where a part of e begins in the file. CEL has the places of operators and dots; the part begins with the first of
// them, or of its operands.
func (e *expression) place(x celast.Expr) (line, col int) {
	info := e.ast.NativeRep().SourceInfo()
	first, found := info.GetStartLocation(x.ID()), false
	celast.PostOrderVisit(x, celast.NewExprVisitor(func(sub celast.Expr) {
		r, ok := info.GetOffsetRange(sub.ID())
		if !ok {
			return
		}
		if at := info.GetLocationByOffset(r.Start); !found || before(at, first) {
			first, found = at, true
		}
	}))
	return e.source.ofError(e.text, first)
}

func before(a, b common.Location) bool {
	return a.Line() < b.Line() || (a.Line() == b.Line() && a.Column() < b.Column())
}

// eval evaluates e. A panic in the engine comes back from CEL as an error.
func (e *expression) eval(f *frame) (ref.Val, error) {
	v, _, err := e.program.Eval(f)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// ruleDigest hashes what a rule decides by: raw text, never unparsed text.
func (c *compiler) ruleDigest(r *Rule) (string, error) {
	used := make(map[string]string)
	c.variablesUsed(r.when, used)
	applies := ""
	if r.applies != nil {
		applies = r.applies.Text
		c.variablesUsed(r.applies, used)
	}
	return canonicalDigest(map[string]any{
		"id": r.ID, "phase": r.Phase, "effect": r.Effect, "kinds": append([]string{}, r.Kinds...), "applies": applies,
		"when": r.when.Text, "reason": r.Reason, "variables": used, "facts": FactsSchema,
	})
}

func (c *compiler) variablesUsed(e *expression, used map[string]string) {
	for _, name := range e.vars {
		if _, ok := used[name]; !ok {
			used[name] = c.byName[name].expr.Text
			c.variablesUsed(c.byName[name].expr, used)
		}
	}
}
