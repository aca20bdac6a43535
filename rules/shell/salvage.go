package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// salvage reads every simple command in a tree, however deep in constructs that have no plan, so that people and rules see
// what was in a text that is refused.
func (l *lowerer) salvage(src string, f *syntax.File) []Call {
	s := &lowerer{src: src, root: l.root, tab: l.tab, depth: l.depth + 1, ok: []string{""}}
	if l.via != "" {
		s.proj, s.via, s.prefix, s.ok = l.proj, l.via, l.prefix, l.ok
	}
	var calls []Call
	syntax.Walk(f, func(n syntax.Node) bool {
		if len(calls) >= maxCalls {
			return false
		}
		calls = append(calls, s.node(n)...)
		return true
	})
	l.resolved = append(l.resolved, s.resolved...)
	return calls
}

// node is what one node of a tree contributes.
func (l *lowerer) node(n syntax.Node) []Call {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			return l.rescue(n)
		}
		if l.via != "" {
			return l.named(n.Assigns)
		}
	case *syntax.Redirect:
		if l.via != "" && n.Word != nil {
			return l.written(n)
		}
	case *syntax.DeclClause:
		if l.via != "" {
			return append(l.declared(n), l.named(n.Args)...)
		}
		c := newCall(n.Variant.Value, nil)
		c.Unknown, c.Effects = []string{n.Variant.Value}, []string{"config"}
		return []Call{c}
	}
	return nil
}

// guess reads simple commands from a text that does not parse, by its blanks and separators. It only looks for harm: all it
// finds is unknown.
func (l *lowerer) guess(text string) []Call {
	calls := []Call{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n;|&()`", r) }) {
		var ws []word
		for _, f := range strings.Fields(part) {
			ws = append(ws, word{text: strings.Trim(f, `'"{}`)})
		}
		if len(ws) == 0 || ws[0].text == "" || len(calls) == maxCalls {
			continue
		}
		res := l.classify(ws, nil)
		c := res.call
		c.Effects = distinct(append(c.Effects, res.promised...))
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
	env := l.rescued(c.Assigns)
	if len(ws) == 0 {
		return nil
	}
	if l.via != "" {
		l.moved(ws)
	}
	res := l.classify(ws, env)
	l.runs(&res.call, res)
	calls := append([]Call{res.call}, res.extra...)
	if l.via != "" && ws[0].text == "trap" && len(ws) > 1 && !ws[1].unread {
		res.shell = &shellCall{text: ws[1].text}
	}
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

// rescued reads assignments whose values may not all resolve.
func (l *lowerer) rescued(list []*syntax.Assign) []EnvVar {
	env := []EnvVar{}
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		v := EnvVar{Name: a.Name.Value, Class: "steering"}
		if w, ref := l.value(a.Value); ref == nil {
			v = l.envVar(a.Name.Value, w.text)
		} else if l.via != "" {
			v.Class = envClass(a.Name.Value, "", "repo") // a script may compute what its own switches are set to
		}
		env = append(env, v)
	}
	return env
}
