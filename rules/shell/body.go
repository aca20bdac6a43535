package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A body is what was read of the scripts that one call runs.
type body struct {
	texts   []string
	calls   []Call
	found   bool
	missing bool // one of them could not be found
	opaque  bool // some of it was not understood
	hides   bool // it may succeed although what it checks fails
}

// conclude says of a call what its scripts show. promised is the harm in the names of scripts alone, unnamed are names that
// promise nothing: they count where the text does not show better. What publishes or deploys by its name is refused
// whatever its text says.
func (b *body) conclude(c *Call, promised, unnamed []string) {
	b.opaque = b.opaque || b.missing
	if b.found {
		c.Body, c.Hides = clipBody(strings.Join(b.texts, "\n")), b.hides
		c.ScriptOpaque = c.Script != "" && b.opaque
	}
	seen := b.found && !b.opaque
	if !seen || slices.Contains(promised, "publish") || slices.Contains(promised, "deploy") {
		c.Effects = distinct(append(c.Effects, promised...))
		slices.Sort(c.Effects)
	}
	switch {
	case !seen:
		c.Unknown = distinct(append(c.Unknown, unnamed...))
		c.Known = c.Known && len(unnamed) == 0
	case c.Class == "check", c.Class == "unknown" && c.Known:
		c.Class = b.class()
	}
}

// class is check unless the scripts do nothing of the kind.
func (b *body) class() string {
	class := "print"
	for _, c := range b.calls {
		switch c.Class {
		case "print", "dir":
		case "read", "filter":
			class = "read"
		default:
			return "check"
		}
	}
	return class
}

func clipBody(s string) string {
	if len(s) > maxBody {
		s = s[:maxBody] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// body reads a script that c runs. key tells scripts apart, title is for people.
func (l *lowerer) body(b *body, c *Call, dir, key, title string, s script) {
	p := l.proj
	switch {
	case slices.Contains(p.stack, key):
		p.fail(title + " runs itself")
		return
	case len(p.stack) >= maxScriptDepth:
		p.fail(title + " is run by too many other scripts")
		return
	}
	p.stack = append(p.stack, key)
	defer func() { p.stack = p.stack[:len(p.stack)-1] }()
	via := title
	if l.via != "" {
		via = l.via + " > " + title
	}
	b.found = true
	b.opaque = b.opaque || s.opaque
	for _, part := range s.parts {
		b.texts = append(b.texts, part.text)
		l.part(b, via, dir, part)
	}
}

// part reads one text of a script.
func (l *lowerer) part(b *body, via, dir string, pt part) {
	p := l.proj
	if p.bodies++; p.bodies > maxBodies {
		p.fail("too many scripts")
		return
	}
	text := plainText(pt.text)
	if strings.TrimSpace(text) == "" {
		return
	}
	in := l.child(via, path.Join(dir, pt.cd), text)
	calls, hides := in.understood()
	if calls == nil {
		b.opaque = true
		in = l.child(via, path.Join(dir, pt.cd), text)
		calls = in.harmOf(text)
	}
	calls = complete(calls)
	for i := range calls {
		if calls[i].Via == "" {
			calls[i].Via = via
		}
		b.opaque = b.opaque || !calls[i].Known || calls[i].ScriptOpaque
	}
	b.hides = b.hides || hides || (pt.soft && hasCheck(calls))
	b.calls = append(b.calls, calls...)
	l.resolved = append(append(l.resolved, calls...), in.resolved...)
	if len(l.resolved) > maxCalls {
		p.fail("too many commands in scripts")
		l.resolved = l.resolved[:maxCalls]
	}
}

// child reads a text in the folder dir. Above the folder the command starts in, places are seen from dir: it is where the
// project is.
func (l *lowerer) child(via, dir, text string) *lowerer {
	in := &lowerer{src: text, tab: l.tab, proj: l.proj, via: via, ok: []string{dir}}
	in.root = l.proj.root
	if dir == ".." || strings.HasPrefix(dir, "../") {
		in.prefix, in.ok = dir, []string{""}
		if in.root != "" {
			in.root = path.Join(in.root, dir)
		}
	}
	in.fail = in.ok
	return in
}

// understood lowers a text as a command is lowered. It gives no calls when that is not possible.
func (l *lowerer) understood() (calls []Call, hides bool) {
	if checkBytes(l.src) != nil {
		return nil, false
	}
	f, ref := parse(l.src)
	if ref != nil {
		return nil, false
	}
	p, ok := l.program(f, shellOpts{})
	if !ok || len(l.refusals) > 0 || len(l.calls) == 0 {
		return nil, false
	}
	_, masks := annotate(&p, l.calls)
	hides = masks && hasCheck(l.calls)
	for _, c := range l.calls {
		hides = hides || (c.Verifies && c.Hides)
	}
	return l.calls, hides
}

func hasCheck(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return c.Class == "check" })
}

// plainText drops what is invisible and ordinary in scripts: carriage returns at ends of lines, and the selector behind an
// emoji.
func plainText(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\ufe0f", "", "\ufe0e", "").Replace(s)
}

// harmOf reads a text that has no plan for the harm in it.
func (l *lowerer) harmOf(text string) []Call {
	if len(text) > maxBytes {
		l.proj.fail("a script that is too long")
		return []Call{}
	}
	calls := []Call{}
	f, ref := (*syntax.File)(nil), checkBytes(text)
	if ref == nil {
		f, ref = parse(text)
	}
	if ref != nil {
		calls = l.guess(text)
	} else {
		calls = append(calls, l.salvage(text, f)...)
	}
	if len(calls) >= maxCalls {
		l.proj.fail("too many commands in a script")
	}
	return calls
}

// written is a call that stands for a redirection in a text that has no plan.
func (l *lowerer) written(r *syntax.Redirect) []Call {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut, syntax.DplOut:
	case syntax.RdrIn:
		return l.readFrom(r)
	default:
		return nil
	}
	c := newCall(">", nil)
	c.Tool, c.Command, c.Class, c.Known = "redirect", "redirect", "print", true
	place, value := "unknown", l.refusal("", r).Word
	if ws, ref := l.words(r.Word); ref == nil && len(ws) == 1 && !ws[0].glob && !ws[0].dynamic {
		value = ws[0].text
		if r.Op == syntax.DplOut && (value == "-" || strings.Trim(value, "0123456789") == "") {
			return nil
		}
		place = l.place("write", value)
		if l.tidyPath(value) {
			place = "artifact"
		}
	}
	if strings.HasPrefix(value, "/dev/std") || value == "/dev/tty" {
		return nil
	}
	c.Redirs = []Redirect{{Op: ">", Place: place, Value: shown(value)}}
	return []Call{c}
}

func (l *lowerer) readFrom(r *syntax.Redirect) []Call {
	ws, ref := l.words(r.Word)
	if ref != nil || len(ws) != 1 || l.place("read", ws[0].text) != "secret" {
		return nil
	}
	c := newCall("<", nil)
	c.Redirs = []Redirect{{Op: "<", Place: "secret", Value: shown(ws[0].text)}}
	return []Call{c}
}

// declared reads the assignments of export, local and the like in a script.
func (l *lowerer) declared(n *syntax.DeclClause) []Call {
	c := newCall(n.Variant.Value, nil)
	c.Unknown = []string{n.Variant.Value}
	c.Env = l.rescued(n.Args)
	for _, v := range c.Env {
		if v.Class == "steering" {
			c.Effects = []string{"config"}
		}
	}
	return []Call{c}
}

// named looks for a harmful program in the values of variables: RM="rm -rf".
func (l *lowerer) named(list []*syntax.Assign) (out []Call) {
	for _, a := range list {
		if w, ref := l.value(a.Value); ref == nil {
			out = append(out, l.hint(w.text)...)
		}
	}
	return out
}

// hint reads a text that may or may not become a command: only its harm counts.
func (l *lowerer) hint(text string) []Call {
	var ws []word
	for _, f := range strings.Fields(text) {
		ws = append(ws, word{text: strings.Trim(f, `'"@-`)})
	}
	if len(ws) == 0 || ws[0].text == "" || !isASCII(ws[0].text) {
		return nil
	}
	sp := l.tab.tools[path.Base(ws[0].text)]
	if sp == nil {
		return nil
	}
	c := l.classify(ws, nil).call
	if len(c.Effects) == 0 {
		return nil
	}
	c.Known, c.Unknown = false, append(c.Unknown, "the value of a variable")
	return []Call{c}
}

// moved follows a cd in a text that has no plan: what comes after it may run in either folder.
func (l *lowerer) moved(ws []word) {
	if len(ws) < 2 || ws[0].text != "cd" {
		return
	}
	to := ws[len(ws)-1]
	if to.unread || to.dynamic || to.glob || strings.HasPrefix(to.text, "-") {
		return // the folder is not known, and was not better known before
	}
	dirs := l.ok
	for _, d := range l.ok {
		dirs = union(dirs, []string{join(d, to.text)})
	}
	if len(dirs) <= maxFolders {
		l.ok = dirs
	}
}
