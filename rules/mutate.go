package rules

import (
	"fmt"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// A Mutant is a small change of a rule, or of a variable that rules use. If no test fails on it, the tests do not say what
// the rule means.
type Mutant struct {
	Name   string `json:"name"` // id of a rule, or "variable NAME"
	Line   int    `json:"line"`
	Col    int    `json:"col"`
	Change string `json:"change"`
	Killed bool   `json:"killed"` // a test failed, as it should
}

// Mutants changes every boolean sub-expression of the pack in turn and runs the tests of the rules that it is part of.
func (p *Pack) Mutants() ([]Mutant, error) {
	beds := p.beds()
	var out []Mutant
	for _, s := range p.scopes() {
		for _, e := range s.exprs {
			for _, part := range e.parts() {
				for _, ch := range changesOf(part) {
					m := Mutant{Name: s.name, Change: ch.what}
					m.Line, m.Col = e.place(part.node)
					program, err := e.changed(part, ch)
					if err != nil {
						return nil, fmt.Errorf("%s:%d:%d: %s: %w", p.file, m.Line, m.Col, ch.what, err)
					}
					m.Killed = p.kills(e, program, s.rules, beds)
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// A change rewrites one node of a copy of an expression.
type change struct {
	what  string
	apply func(c *changing, x celast.Expr)
}

func changesOf(p part) []change {
	fn, text := function(p.node), p.text()
	switch fn {
	case operators.Equals, operators.NotEquals:
		other := map[string]string{operators.Equals: "!=", operators.NotEquals: "=="}[fn]
		return []change{{fmt.Sprintf("the sign of %s made %s", text, other), (*changing).negate}} // the two are one change
	case operators.LogicalAnd, operators.LogicalOr:
		args := p.node.AsCall().Args()
		left, right := part{p.expr, args[0]}, part{p.expr, args[1]}
		other, sign := operators.LogicalOr, "||"
		if fn == operators.LogicalOr {
			other, sign = operators.LogicalAnd, "&&"
		}
		return []change{
			{"negated: " + text, (*changing).negate},
			{"without the operand " + left.text(), func(c *changing, x celast.Expr) { c.become(x, x.AsCall().Args()[1]) }},
			{"without the operand " + right.text(), func(c *changing, x celast.Expr) { c.become(x, x.AsCall().Args()[0]) }},
			{fmt.Sprintf("joined by %s: %s", sign, text), func(c *changing, x celast.Expr) { c.call(x, other, x.AsCall().Args()...) }},
		}
	case operators.LogicalNot:
		return []change{{"without its !: " + text, func(c *changing, x celast.Expr) { c.become(x, x.AsCall().Args()[0]) }}}
	}
	return []change{{"negated: " + text, (*changing).negate}}
}

// A changing is a copy of an expression that is being changed.
type changing struct {
	ast  *celast.AST
	fac  celast.ExprFactory
	next int64
}

// changed compiles e with one change. The tree is changed and not the text, since unparsing may drop parentheses.
func (e *expression) changed(p part, ch change) (cel.Program, error) {
	c := &changing{ast: celast.Copy(e.ast.NativeRep()), fac: celast.NewExprFactory()}
	c.next = celast.MaxID(c.ast) + 1
	var node celast.Expr
	celast.PostOrderVisit(c.ast.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.ID() == p.id() {
			node = x
		}
	}))
	if node == nil {
		return nil, fmt.Errorf("internal error: no part %d", p.id())
	}
	ch.apply(c, node)
	checked, err := celast.ToProto(c.ast)
	if err != nil {
		return nil, err
	}
	return e.env.Program(cel.CheckedExprToAst(checked), cel.EvalOptions(cel.OptOptimize))
}

// negate makes x its own operand, under a new number, and then not that.
func (c *changing) negate(x celast.Expr) {
	id, operand := c.next, c.fac.CopyExpr(x)
	c.next++
	operand.RenumberIDs(func(old int64) int64 {
		if old == x.ID() {
			return id
		}
		return old
	})
	c.copyInfo(x.ID(), id)
	c.call(x, operators.LogicalNot, operand)
}

// overloadsOf are the overloads of the functions that a change may put in.
var overloadsOf = map[string]string{
	operators.LogicalNot: overloads.LogicalNot, operators.LogicalAnd: overloads.LogicalAnd, operators.LogicalOr: overloads.LogicalOr,
}

func (c *changing) call(x celast.Expr, fn string, args ...celast.Expr) {
	x.SetKindCase(c.fac.NewCall(x.ID(), fn, args...))
	c.ast.SetType(x.ID(), types.BoolType)
	c.ast.SetReference(x.ID(), celast.NewFunctionReference(overloadsOf[fn]))
}

// become puts a part of x in its place.
func (c *changing) become(x, inner celast.Expr) {
	c.copyInfo(inner.ID(), x.ID())
	x.SetKindCase(inner)
}

// copyInfo gives a node the type and the meaning of another.
func (c *changing) copyInfo(from, to int64) {
	c.ast.SetType(to, c.ast.GetType(from))
	if ref, ok := c.ast.ReferenceMap()[from]; ok {
		c.ast.SetReference(to, ref)
	} else {
		delete(c.ast.ReferenceMap(), to)
	}
}

// kills reports whether a test of one of the rules fails when e is evaluated by another program.
func (p *Pack) kills(e *expression, program cel.Program, rules []*Rule, beds map[*Rule][]bedded) bool {
	mutant := *e
	mutant.program, mutant.constant = program, false
	pack := *p
	pack.variables = make([]*variable, len(p.variables))
	pack.constants = nil // a changed variable may be one of them, or be read by one
	for i, v := range p.variables {
		pack.variables[i] = v
		if v.expr == e {
			pack.variables[i] = &variable{name: v.name, expr: &mutant}
		}
	}
	for _, r := range rules {
		rule := *r
		if rule.when == e {
			rule.when = &mutant
		}
		if rule.applies == e {
			rule.applies = &mutant
		}
		for _, b := range beds[r] {
			got, err := rule.try(newFrame(&pack, b.facts), b.kind)
			if err != nil {
				got = wantError
			}
			if got != b.Want {
				return true
			}
		}
	}
	return false
}
