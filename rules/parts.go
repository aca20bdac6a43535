package rules

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// A part is a sub-expression that is true or false and stands in the text of a rule.
type part struct {
	expr *expression
	node celast.Expr
}

// id names the part within its expression.
func (p part) id() int64 { return p.node.ID() }

// parts lists the boolean sub-expressions of e, the whole first. What a macro adds is none of them, and neither are true
// and false themselves.
func (e *expression) parts() []part {
	l := lister{expr: e, rep: e.ast.NativeRep()}
	l.walk(l.rep.Expr())
	return l.list
}

type lister struct {
	expr *expression
	rep  *celast.AST
	accu []string // variables of macros
	list []part
}

func (l *lister) walk(x celast.Expr) {
	if typ := l.rep.GetType(x.ID()); typ != nil && typ.IsExactType(types.BoolType) && x.Kind() != celast.LiteralKind && !l.ofMacro(x) {
		l.list = append(l.list, part{l.expr, x})
	}
	switch x.Kind() {
	case celast.SelectKind:
		l.walk(x.AsSelect().Operand())
	case celast.CallKind:
		if x.AsCall().IsMemberFunction() {
			l.walk(x.AsCall().Target())
		}
		for _, a := range x.AsCall().Args() {
			l.walk(a)
		}
	case celast.ListKind:
		for _, el := range x.AsList().Elements() {
			l.walk(el)
		}
	case celast.ComprehensionKind:
		c := x.AsComprehension()
		l.walk(c.IterRange())
		l.accu = append(l.accu, c.AccuVar())
		l.walk(c.LoopStep())
		l.accu = l.accu[:len(l.accu)-1]
	}
}

// ofMacro reports whether x reads the variable that a macro gathers its result in.
func (l *lister) ofMacro(x celast.Expr) bool {
	if len(l.accu) == 0 {
		return false
	}
	name, found := l.accu[len(l.accu)-1], false
	var look func(celast.Expr)
	look = func(x celast.Expr) {
		switch x.Kind() {
		case celast.IdentKind:
			found = found || x.AsIdent() == name
		case celast.CallKind:
			for _, a := range x.AsCall().Args() {
				look(a)
			}
		case celast.SelectKind:
			look(x.AsSelect().Operand())
		}
	}
	look(x)
	return found
}

// expressions are those that a rule decides by: its applies and its when, and the variables they use, each once, in order.
func (p *Pack) expressions(r *Rule) []*expression {
	var out []*expression
	seen := make(map[string]bool)
	var add func(e *expression)
	add = func(e *expression) {
		if e == nil {
			return
		}
		out = append(out, e)
		for _, name := range e.vars {
			if !seen[name] {
				seen[name] = true
				add(p.variable(name).expr)
			}
		}
	}
	add(r.applies)
	add(r.when)
	return out
}

// A scope is what coverage and mutation look at together: the expressions of one rule, or one variable with every rule
// that uses it.
type scope struct {
	name  string
	exprs []*expression
	rules []*Rule
}

// scopes are the rules of the pack, and then the variables that rules decide by.
func (p *Pack) scopes() []scope {
	var out []scope
	users := make(map[*expression][]*Rule)
	for _, r := range p.Rules {
		own := scope{name: r.ID, rules: []*Rule{r}}
		for _, e := range p.expressions(r) {
			if e == r.applies || e == r.when {
				own.exprs = append(own.exprs, e)
			} else {
				users[e] = append(users[e], r)
			}
		}
		out = append(out, own)
	}
	for _, v := range p.variables {
		if len(users[v.expr]) > 0 {
			out = append(out, scope{name: "variable " + v.name, exprs: []*expression{v.expr}, rules: users[v.expr]})
		}
	}
	return out
}

// A bedded test has its facts made: they are the same for every mutant.
type bedded struct {
	Test
	rule  *Rule
	facts *object
	kind  string
}

// beds makes the facts of every test of a pack, by rule. A test whose facts cannot be made is left out: it fails anyway.
func (p *Pack) beds() map[*Rule][]bedded {
	out := make(map[*Rule][]bedded)
	for _, r := range p.Rules {
		for _, t := range r.Tests {
			if f, err := t.facts(); err == nil {
				out[r] = append(out[r], bedded{t, r, factsObject(&f), f.Claim.Kind})
			}
		}
	}
	return out
}
