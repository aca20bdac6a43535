package rules

import (
	"slices"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// ownReasons are codes that the gate and the judge give by themselves: a rule with one of them could be taken for them.
var ownReasons = []string{
	"allowed", "no_allow", "not_understood", "rule_error", "as_claimed", "no_evidence_required", "no_run", "expect_not_understood",
	"bad_line", "timeout", "cwd_not_granted", "cwd_unknown",
}

// Lint lists what is allowed in a pack and is likely a mistake, as warnings.
func (p *Pack) Lint() Diagnostics {
	d := &diagnoser{file: p.file}
	for _, r := range p.Rules {
		p.lintRule(d, r)
	}
	used := make(map[string]bool)
	params := make(map[string]bool)
	for _, e := range p.everyExpression() {
		for _, name := range e.vars {
			used[name] = true
		}
		for _, name := range e.selected("params") {
			params[name] = true
		}
	}
	for _, v := range p.variables {
		if !used[v.name] {
			d.addAt(v.expr, "", "variable %s is never read", v.name)
		}
	}
	for _, f := range p.params.typ.fields {
		if !params[f.name] {
			d.add(1, 1, "", "params.%s is never read", f.name)
		}
	}
	return d.list.Warnings()
}

func (p *Pack) lintRule(d *diagnoser, r *Rule) {
	exprs := p.expressions(r)
	if slices.Contains(ownReasons, r.Reason) {
		d.add(r.Line, r.Col, r.ID, "reason %s is given by dk itself: take another, so that the two can be told apart", r.Reason)
	}
	if !slices.ContainsFunc(exprs, func(e *expression) bool { return !e.constant }) {
		d.addAt(r.when, r.ID, "it reads no fact: it is the same for every claim")
	}
	if r.Phase == PhaseJudge && onlyClaim(exprs) {
		d.addAt(r.when, r.ID, "it reads the agent's words alone, and no evidence")
	}
	tested := make(map[string]bool)
	for _, e := range exprs {
		e.optionalReads(func(x celast.Expr, text string, test bool) {
			if test {
				tested[text] = true
			}
		})
	}
	for _, e := range exprs {
		e.optionalReads(func(x celast.Expr, text string, test bool) {
			if !test && !tested[text] {
				tested[text] = true // once
				line, col := e.place(x)
				d.add(line, col, r.ID, "%s is not always recorded, and reading it then is an error: ask has(%s) before", text, text)
			}
		})
	}
}

// addAt adds a diagnostic about a whole expression.
func (d *diagnoser) addAt(e *expression, rule, format string, args ...any) {
	line, col := e.source.at(e.text, 0)
	d.add(line, col, rule, format, args...)
}

func onlyClaim(exprs []*expression) bool {
	claim := false
	for _, e := range exprs {
		for _, root := range e.roots {
			switch root {
			case "claim":
				claim = true
			case "run", "files", "command":
				return false
			}
		}
	}
	return claim
}

// optionalReads visits every read of a fact that may be not recorded, and every has() of one.
func (e *expression) optionalReads(visit func(x celast.Expr, text string, test bool)) {
	rep := e.ast.NativeRep()
	celast.PostOrderVisit(rep.Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() != celast.SelectKind {
			return
		}
		operand := rep.GetType(x.AsSelect().Operand().ID())
		if operand == nil {
			return
		}
		st := factTypes()[operand.TypeName()]
		if st == nil || st.byName[x.AsSelect().FieldName()] == nil || !st.byName[x.AsSelect().FieldName()].optional {
			return
		}
		if of, err := parser.Unparse(x.AsSelect().Operand(), rep.SourceInfo()); err == nil {
			visit(x, of+"."+x.AsSelect().FieldName(), x.AsSelect().IsTestOnly())
		}
	}))
}

// everyExpression are all of a pack, messages included.
func (p *Pack) everyExpression() []*expression {
	var out []*expression
	for _, r := range p.Rules {
		for _, e := range []*expression{r.applies, r.when, r.message} {
			if e != nil {
				out = append(out, e)
			}
		}
	}
	for _, v := range p.variables {
		out = append(out, v.expr)
	}
	return out
}

// selected lists the members that e reads of a name, such as those of params.
func (e *expression) selected(root string) []string {
	var out []string
	celast.PostOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		if x.Kind() != celast.SelectKind {
			return
		}
		if o := x.AsSelect().Operand(); o.Kind() == celast.IdentKind && o.AsIdent() == root {
			out = append(out, x.AsSelect().FieldName())
		}
	}))
	return out
}
