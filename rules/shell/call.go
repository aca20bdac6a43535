package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// refusedBuiltins change the state of a shell or run text; a plan has no shell whose state they could change.
const refusedBuiltins = " . alias bg bind break builtin caller compgen complete compopt continue declare dirs disown enable eval " +
	"exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return " +
	"set shift shopt source suspend times trap typeset ulimit umask unalias unset wait "

// call lowers one simple command.
func (l *lowerer) call(c *syntax.CallExpr, acts []FDAction, show []Redirect) (Plan, bool) {
	l.fail = l.ok
	env, assigns, ok := l.assigns(c.Assigns)
	ws, done := l.argv(c.Args)
	if !ok || !done {
		return Plan{}, false
	}
	if len(ws) == 0 {
		return l.no("assignment", c)
	}
	if code := badName(ws[0]); code != "" {
		return l.no(code, c.Args[0])
	}
	switch ws[0].text {
	case "cd":
		return l.cd(c, ws, acts, show)
	case ":":
		return l.builtin("true", ws, env, assigns, acts, show)
	case "type":
		return l.builtin("lookup", ws, env, assigns, acts, show)
	case "command":
		if len(ws) > 1 && (ws[1].text == "-v" || ws[1].text == "-V") {
			return l.builtin("lookup", ws, env, assigns, acts, show)
		}
	}
	res := l.classify(ws, env)
	res.call.Redirs = append(show, res.call.Redirs...)
	if res.shell != nil {
		return l.shellText(c, res, assigns, acts)
	}
	l.runs(&res.call, res)
	l.calls = append(l.calls, res.call)
	e := &Exec{Call: len(l.calls) - 1, Env: assigns, Redirs: acts}
	for _, w := range ws[res.drop:] {
		e.Argv = append(e.Argv, w.parts)
	}
	l.calls = append(l.calls, res.extra...)
	return Plan{Op: OpRun, Exec: e}, true
}

// badName refuses what cannot be the name of a program in a plan.
func badName(w word) string {
	switch {
	case w.glob:
		return "glob_command"
	case w.dynamic:
		return "dynamic_command"
	case w.text == "" || strings.HasPrefix(w.text, "-"):
		return "empty_command"
	case !isASCII(w.text):
		return "non_ascii_command"
	case strings.Contains(refusedBuiltins, " "+w.text+" "):
		return "builtin"
	}
	return ""
}

func (l *lowerer) argv(args []*syntax.Word) (out []word, ok bool) {
	ok = true
	for _, a := range args {
		ws, ref := l.words(a)
		if ref != nil {
			l.refuse(ref)
			ok = false
			continue
		}
		for _, w := range ws {
			if w, ref = l.argument(a, w, len(out) == 0); ref != nil {
				l.refuse(ref)
				ok = false
			}
			out = append(out, w)
		}
	}
	return out, ok
}

// argument refuses a pattern in a flag. `--include=*.go` is taken as written: bash would expand it only if a file had that
// very name, and what we run is what we read.
func (l *lowerer) argument(a *syntax.Word, w word, first bool) (word, *Refusal) {
	if !w.glob || first || !strings.HasPrefix(w.text, "-") {
		return w, nil
	}
	name, _, found := strings.Cut(w.text, "=")
	if !found || strings.ContainsAny(name, "*?[") || w.dynamic {
		return w, l.refusal("glob_flag", a)
	}
	return w.literal(), nil
}

func (l *lowerer) assigns(list []*syntax.Assign) (env []EnvVar, out []Assign, ok bool) {
	ok = true
	for _, a := range list {
		if a.Append || a.Naked || a.Name == nil || a.Index != nil || a.Array != nil {
			l.refuse(l.refusal("assignment", a))
			ok = false
			continue
		}
		w, ref := l.value(a.Value)
		if ref != nil {
			l.refuse(ref)
			ok = false
			continue
		}
		env = append(env, l.envVar(a.Name.Value, w.text))
		out = append(out, Assign{Name: a.Name.Value, Value: w.parts})
	}
	return env, out, ok
}

func (l *lowerer) builtin(kind string, ws []word, env []EnvVar, assigns []Assign, acts []FDAction, show []Redirect) (Plan, bool) {
	res := l.classify(ws, env)
	res.call.Redirs = show
	l.calls = append(l.calls, res.call)
	e := &Exec{Call: len(l.calls) - 1, Builtin: kind, Env: assigns, Redirs: acts}
	for _, w := range ws {
		e.Argv = append(e.Argv, w.parts)
	}
	return Plan{Op: OpRun, Exec: e}, true
}

// cd moves the folder that later places are judged from.
func (l *lowerer) cd(c *syntax.CallExpr, ws []word, acts []FDAction, show []Redirect) (Plan, bool) {
	if len(ws) == 3 && ws[1].text == "--" {
		ws = append(ws[:1:1], ws[2])
	}
	if len(c.Assigns) > 0 || len(ws) != 2 || ws[1].glob || ws[1].dynamic || ws[1].text == "" || ws[1].text[0] == '-' {
		return l.no("cd", c)
	}
	call := newCall("cd", ws)
	call.Tool, call.Command, call.Eco, call.Class, call.Known = "cd", "cd", "shell", "dir", true
	call.Redirs = show
	call.Operands = append(call.Operands, Operand{Value: ws[1].text, Role: "dir", Place: l.place("dir", ws[1].text)})
	l.calls = append(l.calls, call)
	var to []string
	for _, d := range l.ok {
		to = union(to, []string{join(d, ws[1].text)})
	}
	if len(to) > maxFolders {
		return l.no("cd", c)
	}
	l.ok, l.fail = to, l.ok
	return Plan{Op: OpRun, Exec: &Exec{
		Call: len(l.calls) - 1, Builtin: "cd", Redirs: acts, Argv: []Word{ws[0].parts, ws[1].parts},
	}}, true
}

// A shellOpts holds the options of a shell that change what a list of commands means.
type shellOpts struct{ errexit, pipefail, command bool }

// setOptions reads `set -euo pipefail`. -u changes nothing in a plan, which has no parameters, and -x only traces.
func setOptions(s *syntax.Stmt) (shellOpts, bool) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || len(s.Redirs) > 0 || len(c.Assigns) > 0 || len(c.Args) < 2 || c.Args[0].Lit() != "set" {
		return shellOpts{}, false
	}
	var words []string
	for _, a := range c.Args[1:] {
		words = append(words, a.Lit())
	}
	o, n, ok := readOptions(words)
	return o, ok && n == len(words) && !o.command
}

// readOptions reads -e, -u, -x and -o pipefail, alone or in a cluster, from the front of words.
func readOptions(words []string) (o shellOpts, n int, ok bool) {
	for n < len(words) && strings.HasPrefix(words[n], "-") && words[n] != "--" {
		cluster := words[n][1:]
		n++
		for i, c := range cluster {
			switch c {
			case 'e':
				o.errexit = true
			case 'u', 'x':
			case 'c':
				o.command = true
				return o, n, i == len(cluster)-1
			case 'o':
				if n == len(words) || (words[n] != "pipefail" && words[n] != "errexit" && words[n] != "nounset") {
					return o, n, false
				}
				o.pipefail = o.pipefail || words[n] == "pipefail"
				o.errexit = o.errexit || words[n] == "errexit"
				n++
			default:
				return o, n, false
			}
		}
	}
	return o, n, true
}

// A shellCall is `sh -c TEXT` behind any wrappers.
type shellCall struct {
	text   string
	opts   shellOpts
	prefix []word // wrappers that are programs, to be put in front of what is in it
}

// shellText lowers the text of sh -c in place of the shell, as a subshell.
func (l *lowerer) shellText(c *syntax.CallExpr, res result, assigns []Assign, acts []FDAction) (Plan, bool) {
	if l.depth >= maxShells {
		return l.no("too_many_shells", c)
	}
	if ref := checkBytes(res.shell.text); ref != nil {
		return l.no(ref.Code, c)
	}
	f, ref := parse(res.shell.text)
	if ref != nil {
		return l.no(ref.Code, c)
	}
	in := &lowerer{src: res.shell.text, root: l.root, tab: l.tab, depth: l.depth + 1, ok: l.ok, fail: l.ok, feed: l.feed}
	in.proj, in.via, in.prefix = l.proj, l.via, l.prefix
	first := len(l.calls)
	in.calls, in.resolved = l.calls, l.resolved
	p, ok := in.program(f, res.shell.opts)
	l.calls, l.resolved = in.calls, in.resolved
	for i := first; i < len(l.calls); i++ {
		l.calls[i].under(res.call)
	}
	for _, r := range in.refusals {
		r.Line, r.Col = int(c.Pos().Line()), int(c.Pos().Col())
		l.refuse(&r)
	}
	if !ok {
		return p, false
	}
	if len(l.calls) > maxCalls {
		return l.no("too_many_calls", c)
	}
	if !wrap(&p, res.shell.prefix, assigns) || !spread(&p, acts) {
		return l.no("wrapped_shell", c)
	}
	return Plan{Op: OpSub, Kids: []Plan{p}}, true
}

// wrap puts wrapper programs and assignments in front of the processes of a plan. A wrapper such as timeout bounds the
// whole shell, so it can be moved inside only when there is one process.
func wrap(p *Plan, prefix []word, assigns []Assign) bool {
	if p.Op == OpRun {
		e := p.Exec
		e.Env = append(append([]Assign{}, assigns...), e.Env...)
		if len(prefix) == 0 {
			return true
		}
		if e.Builtin != "" {
			return false
		}
		// the assignments must reach the program through the wrapper: both come from the same environment
		var argv []Word
		for _, w := range prefix {
			argv = append(argv, w.parts)
		}
		e.Argv = append(argv, e.Argv...)
		return true
	}
	if len(prefix) > 0 && (len(p.Kids) != 1 || p.Op == OpNot) {
		return false
	}
	for i := range p.Kids {
		if !wrap(&p.Kids[i], prefix, assigns) {
			return false
		}
	}
	return true
}
