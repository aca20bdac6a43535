package rules

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// A Coverage says how much of a rule, or of a variable that rules use, its tests have seen: each sub-expression that is true
// or false is to be seen as both.
type Coverage struct {
	Name    string `json:"name"` // id of a rule, or "variable NAME"
	Line    int    `json:"line"`
	Wanted  int    `json:"wanted"` // outcomes
	Seen    int    `json:"seen"`
	Missing []Gap  `json:"missing,omitempty"`
}

// A Gap is an outcome that no test showed.
type Gap struct {
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Expr    string `json:"expr"`
	Outcome bool   `json:"outcome"`
}

// PerMille is the share that was seen, rounded down: only all of it is 1000.
func (c Coverage) PerMille() int {
	if c.Wanted == 0 {
		return 1000
	}
	return c.Seen * 1000 / c.Wanted
}

// Coverage runs the tests of the pack and reports what they saw, by rule and variable.
func (p *Pack) Coverage() ([]Coverage, error) {
	beds := p.beds()
	var out []Coverage
	for _, s := range p.scopes() {
		c := Coverage{Name: s.name, Line: s.exprs[0].Line}
		if len(s.rules) == 1 && s.rules[0].ID == s.name {
			c.Line = s.rules[0].Line
		}
		for _, e := range s.exprs {
			seen, err := p.outcomes(e, s.rules, beds)
			if err != nil {
				return nil, err
			}
			c.add(e, seen)
		}
		out = append(out, c)
	}
	return out, nil
}

// seenBoth holds which outcomes of each part were seen.
type seenBoth map[int64]map[bool]bool

// outcomes evaluates e over the tests of rules. Every operand is evaluated, short circuits or not: this is for coverage alone,
// an explanation must not be made so.
func (p *Pack) outcomes(e *expression, rules []*Rule, beds map[*Rule][]bedded) (seenBoth, error) {
	program, err := e.env.Program(e.ast, cel.EvalOptions(cel.OptExhaustiveEval))
	if err != nil {
		return nil, err
	}
	parts, seen := e.parts(), make(seenBoth)
	for _, part := range parts {
		seen[part.id()] = make(map[bool]bool)
	}
	for _, r := range rules {
		for _, b := range beds[r] {
			if !r.appliesTo(b.kind) {
				continue
			}
			fr := newFrame(p, b.facts)
			for _, n := range fr.looks(r) {
				fr.lookAt(n)
				_, details, _ := program.Eval(fr)
				if details == nil {
					continue
				}
				for _, part := range parts {
					if v, ok := details.State().Value(part.id()); ok {
						if truth, ok := v.(types.Bool); ok {
							seen[part.id()][bool(truth)] = true
						}
					}
				}
			}
		}
	}
	return seen, nil
}

// looks are the calls a rule is evaluated for, from 1; those that do not read call are evaluated once for the whole (0).
func (f *frame) looks(r *Rule) []int {
	if !r.usesCall() {
		return []int{0}
	}
	out := make([]int, len(f.calls()))
	for i := range out {
		out[i] = i + 1
	}
	return out
}

func (c *Coverage) add(e *expression, seen seenBoth) {
	for _, part := range e.parts() {
		for _, outcome := range []bool{true, false} {
			c.Wanted++
			if seen[part.id()][outcome] {
				c.Seen++
				continue
			}
			g := Gap{Outcome: outcome, Expr: part.text()}
			g.Line, g.Col = e.place(part.node)
			c.Missing = append(c.Missing, g)
		}
	}
}

// text is the part as CEL writes it.
func (p part) text() string {
	text, err := parser.Unparse(p.node, p.expr.ast.NativeRep().SourceInfo())
	if err != nil {
		return "?"
	}
	return clip(oneLine(text), maxValueBytes)
}
