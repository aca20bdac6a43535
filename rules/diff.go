package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// A Change is one difference between two packs, by what decides: messages and tests are outside.
type Change struct {
	What string `json:"change"` // added, removed, changed: a rule; param
	Name string `json:"name"`   // id of a rule, name of a param
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Diff says what b decides otherwise than a: rules that were added, removed or changed, by digest, and params.
func Diff(a, b *Pack) []Change {
	var out []Change
	for _, r := range a.Rules {
		switch other := b.Rule(r.ID); {
		case other == nil:
			out = append(out, Change{What: "removed", Name: r.ID, From: r.Digest})
		case other.Digest != r.Digest:
			out = append(out, Change{What: "changed", Name: r.ID, From: r.differs(a, other, b), To: other.differs(b, r, a)})
		}
	}
	for _, r := range b.Rules {
		if a.Rule(r.ID) == nil {
			out = append(out, Change{What: "added", Name: r.ID, To: r.Digest})
		}
	}
	before, after := a.paramTexts(), b.paramTexts()
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			out = append(out, Change{What: "param", Name: name, From: before[name], To: after[name]})
		}
	}
	return out
}

// differs lists the members of r that differ from those of another version of it.
func (r *Rule) differs(p *Pack, other *Rule, q *Pack) string {
	mine, theirs := r.members(p), other.members(q)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if mine[name] != theirs[name] {
			out = append(out, name+": "+mine[name])
		}
	}
	return strings.Join(out, "; ")
}

// members are what a rule's digest is made of, as texts.
func (r *Rule) members(p *Pack) map[string]string {
	out := map[string]string{
		"phase": r.Phase, "effect": r.Effect, "kinds": strings.Join(r.Kinds, ", "), "when": r.when.Text, "reason": r.Reason,
	}
	if r.applies != nil {
		out["applies"] = r.applies.Text
	}
	for _, v := range p.variables {
		if slices.Contains(p.expressions(r), v.expr) {
			out["variable "+v.name] = v.expr.Text
		}
	}
	return out
}

func (p *Pack) paramTexts() map[string]string {
	out := make(map[string]string)
	for _, f := range p.params.typ.fields {
		text := fmt.Sprint(p.params.vals[f.index].Value())
		if f.typ.TypeName() == "list" {
			list, n := p.params.vals[f.index].(traits.Lister), 0
			items := []string{}
			for size, _ := list.Size().(types.Int); n < int(size); n++ {
				items = append(items, fmt.Sprint(list.Get(types.Int(n)).Value()))
			}
			text = strings.Join(items, ", ")
		}
		out[f.name] = text
	}
	return out
}
