package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// salvage reads every simple command in a tree, however deep in constructs that have no plan, so that people and rules see
// what was in a text that is refused.
func (l *lowerer) salvage(src string, f *syntax.File) []Call {
	s := &lowerer{src: src, root: l.root, tab: l.tab, depth: l.depth + 1, ok: []string{""}}
	var calls []Call
	syntax.Walk(f, func(n syntax.Node) bool {
		if len(calls) >= maxCalls {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				calls = append(calls, s.rescue(n)...)
			}
		case *syntax.DeclClause:
			c := newCall(n.Variant.Value, nil)
			c.Unknown, c.Effects = []string{n.Variant.Value}, []string{"config"}
			calls = append(calls, c)
		}
		return true
	})
	return calls
}

// guess reads simple commands from a text that does not parse, by its blanks and separators. It only looks for harm: all it
// finds is unknown.
func guess(text string) []Call {
	calls := []Call{}
	l := &lowerer{src: text, tab: theTables(), ok: []string{""}}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n;|&()`", r) }) {
		var ws []word
		for _, f := range strings.Fields(part) {
			ws = append(ws, word{text: strings.Trim(f, `'"{}`)})
		}
		if len(ws) == 0 || ws[0].text == "" || len(calls) == maxCalls {
			continue
		}
		c := l.classify(ws, nil).call
		c.Known, c.Class, c.Unknown = false, "unknown", append(c.Unknown, "text that does not parse")
		calls = append(calls, c)
	}
	return complete(calls)
}

// rescue reads one call whose words may not all resolve.
func (l *lowerer) rescue(c *syntax.CallExpr) []Call {
	var ws []word
	for _, a := range c.Args {
		got, ref := l.words(a)
		if ref != nil {
			got = []word{{text: ref.Word, unread: true, pos: a.Pos()}}
		}
		ws = append(ws, got...)
	}
	env := []EnvVar{}
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		v := EnvVar{Name: a.Name.Value, Class: "steering"}
		if w, ref := l.value(a.Value); ref == nil {
			v = l.envVar(a.Name.Value, w.text)
		}
		env = append(env, v)
	}
	if len(ws) == 0 {
		return nil
	}
	res := l.classify(ws, env)
	calls := append([]Call{res.call}, res.extra...)
	if res.shell == nil || l.depth > maxShells || checkBytes(res.shell.text) != nil {
		return calls
	}
	if f, ref := parse(res.shell.text); ref == nil {
		for _, inner := range l.salvage(res.shell.text, f) {
			inner.under(res.call)
			calls = append(calls, inner)
		}
	}
	return calls
}
