package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// enter goes on with the command inside a wrapper. ws are all words after the wrapper's name, operands those from its first
// operand on.
func (r *reading) enter(sp *spec, ws, operands []word) {
	in := sp.Inner
	if in.Shell {
		r.enterShell(sp, ws)
		return
	}
	if in.Env {
		operands = r.envWords(operands)
	}
	if len(operands) < in.Skip || (len(operands) == in.Skip && (in.Skip > 0 || in.Env)) {
		r.alone(sp, len(operands))
		return
	}
	if in.Skip > 0 {
		for _, w := range operands[:in.Skip] {
			if w.glob || w.dynamic || !durationText.MatchString(w.text) {
				r.note(w.text)
			}
		}
		operands = operands[in.Skip:]
	}
	if len(operands) == 0 {
		r.alone(sp, 0)
		return
	}
	r.needs(sp)
	r.inside(sp, operands)
}

var durationText = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?[smhd]?$`)

// alone is a wrapper with nothing in it. `env` prints the environment, which holds credentials.
func (r *reading) alone(sp *spec, operands int) {
	if sp.Inner.Env && r.class == "" {
		r.harm("secret")
	}
	if operands > 0 || (sp.Class == "" && r.class == "") {
		r.note(sp.Name + " without a command")
	}
	r.needs(sp)
	r.settle(sp.Class)
}

// envWords takes NAME=VALUE from the front.
func (r *reading) envWords(ws []word) []word {
	for len(ws) > 0 {
		name, value, ok := strings.Cut(ws[0].text, "=")
		if !ok {
			break
		}
		if ws[0].glob || ws[0].dynamic || ws[0].fed || ws[0].unread {
			r.note(ws[0].text)
		}
		r.env = append(r.env, r.l.envVar(name, value))
		ws = ws[1:]
	}
	return ws
}

// inside reads ws as the command a wrapper starts.
func (r *reading) inside(sp *spec, ws []word) {
	in, name := sp.Inner, ws[0].text
	if in.Eco != "" || in.Target || in.Script != "" {
		if done := r.projectCommand(sp, ws); done {
			return
		}
	}
	if in.Fed {
		r.feed = &r.l.feed
		if r.feed.place == "" {
			r.feed = &feed{place: "unknown"}
		}
		ws = replaced(ws, r.feed, r.replace())
		r.harmlessFeed(ws)
	}
	if in.Drop {
		if len(r.whole) > 0 && len(r.whole)-len(ws) == 1 && r.drop == 0 {
			r.drop = 1
		} else {
			r.note(sp.Name)
		}
	}
	r.wrappers = append(r.wrappers, r.call.Command)
	if in.Python {
		r.module(ws)
		return
	}
	if strings.Contains(refusedBuiltins, " "+name+" ") || name == "cd" {
		r.note(name)
	}
	r.peel(ws)
}

// projectCommand reads what a package runner is given: a tool it knows to be local, a script by name, or a file.
func (r *reading) projectCommand(sp *spec, ws []word) bool {
	in, name := sp.Inner, ws[0].text
	tool := r.l.tab.tools[name]
	if in.Eco != "" {
		if tool != nil && slices.Contains(splitList(in.Eco), tool.Eco) {
			if in.Target { // a script of the project goes before a program of that name
				r.asks = append(r.asks, ask{tool: r.call.Tool, name: name, args: texts(ws[1:]), dirs: r.dirs()})
			}
			return false
		}
		if !in.Target {
			r.note(name)
			r.harm("network", "execute")
			return true
		}
	}
	if in.Script != "" && slices.Contains(splitList(in.Script), path.Ext(name)) {
		r.script(name)
		r.scriptArgs(ws[1:])
		r.settle("")
		return true
	}
	if !in.Target {
		return false
	}
	r.targetName(sp, name)
	r.scriptArgs(ws[1:])
	r.settle("")
	return true
}

// module reads `python -m NAME`.
func (r *reading) module(ws []word) {
	name := ws[0].text
	tool := r.l.tab.tools[name]
	if tool != nil && tool.Eco == "python" && !ws[0].fed && !ws[0].dynamic {
		r.start(ws)
		r.toolIs(tool, name)
		r.read(tool, ws[1:])
		return
	}
	r.start(ws)
	r.call.Tool, r.call.Eco, r.call.Command = "script", "scripts", "python -m"
	r.scripts = append(r.scripts, name)
	if class := r.nameClass(nil, name); class == "check" && moduleName.MatchString(name) {
		r.verified()
	} else {
		r.note(name)
		r.harm("execute")
	}
	r.scriptArgs(ws[1:])
	r.settle("")
}

var moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// innerFlag is a flag after which another command starts: python -m NAME, find -exec COMMAND ;
func (r *reading) innerFlag(f *flag, ws []word) int {
	switch f.name {
	case "-m", "--module":
		return r.pythonModule(ws)
	case "-exec":
	default:
		if len(ws) < 2 {
			r.note(f.name)
			return 1
		}
		r.wrappers = append(r.wrappers, r.call.Tool+" "+f.name)
		r.peel(ws[1:])
		r.done = true
		return len(ws)
	}
	end := slices.IndexFunc(ws, func(w word) bool { return w.text == ";" || w.text == "+" })
	if end < 2 {
		r.note(f.name)
		return len(ws)
	}
	place := findPlace(r.l, r.whole)
	fd := &feed{place: place, dash: true}
	in := &reading{l: r.l, depth: r.depth + 1, wrappers: append(slices.Clone(r.wrappers), "find "+f.name), feed: fd}
	in.peel(replaced(ws[1:end], fd, "{}"))
	res := in.finish()
	if res.shell != nil || len(res.extra) > 0 {
		res.call.Known = false
		res.call.Unknown = append(res.call.Unknown, f.name)
	}
	r.extra = append(r.extra, res.call)
	r.harm(append(res.call.Effects, res.promised...)...)
	return end + 1
}

func (r *reading) pythonModule(ws []word) int {
	if len(ws) < 2 {
		r.note("-m")
		return 1
	}
	r.wrappers = append(r.wrappers, r.call.Tool+" -m")
	r.module(ws[1:])
	r.done = true
	return len(ws)
}

// enterShell reads a shell: -c TEXT is lowered in its place, a script is judged by its name, anything else is refused.
func (r *reading) enterShell(sp *spec, ws []word) {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.text
		if w.dynamic || w.fed || w.unread || w.glob {
			r.note(w.text)
			if r.l.via == "" || w.fed {
				r.harm("execute")
			}
			return
		}
	}
	opts, n, ok := readOptions(texts)
	switch {
	case len(texts) > 1 && texts[0] == "-n" && !strings.HasPrefix(texts[1], "-"):
		for _, file := range texts[1:] {
			r.path("read", file) // only its syntax is read
		}
		r.settle("check")
	case !ok || n >= len(ws):
		r.harm("execute")
		r.note(strings.Join(append([]string{sp.Name}, texts...), " "))
		if i := slices.IndexFunc(texts, func(s string) bool { return strings.HasPrefix(s, "-") && strings.HasSuffix(s, "c") }); i >= 0 && i+1 < len(texts) {
			r.shellHarm(texts[i+1])
		}
	case !opts.command:
		r.script(texts[n])
		r.scriptArgs(ws[n+1:])
		r.settle("")
	case n != len(ws)-1 || r.feed != nil:
		r.note(texts[len(texts)-1])
		r.harm("execute")
		r.shellHarm(texts[n])
	default:
		opts.command = false
		r.wrappers = append(r.wrappers, r.call.Tool+" -c")
		r.call.Class = "unknown"
		prefix := r.whole[:len(r.whole)-len(ws)-1]
		r.shell = &shellCall{text: texts[n], opts: opts, prefix: prefix[min(r.drop, len(prefix)):]}
	}
}

// shellHarm adds the harm in a text that a shell would run.
func (r *reading) shellHarm(text string) {
	if r.l.depth >= maxShells || checkBytes(text) != nil {
		return
	}
	if f, ref := parse(text); ref == nil {
		for _, c := range r.l.salvage(text, f) {
			r.harm(c.Effects...)
		}
	}
}

// under adds to a call what a shell around it has shown.
func (c *Call) under(outer Call) {
	c.Wrappers = append(slices.Clone(outer.Wrappers), c.Wrappers...)
	c.Env = append(slices.Clone(outer.Env), c.Env...)
	c.Redirs = append(slices.Clone(outer.Redirs), c.Redirs...)
	c.Unknown = distinct(append(slices.Clone(outer.Unknown), c.Unknown...))
	c.Effects = distinct(append(c.Effects, outer.Effects...))
	slices.Sort(c.Effects)
	c.Known = c.Known && len(c.Unknown) == 0
}
