package shell

import (
	"path"
	"slices"
	"strings"
)

// read reads the arguments of a tool or sub-command.
func (r *reading) read(sp *spec, ws []word) {
	r.call.Command = strings.TrimSpace(r.call.Tool + " " + r.call.Sub)
	if len(sp.subs) == 0 {
		r.harm(sp.effects...)
	}
	if sp.Class == "" && len(sp.subs) == 0 && len(sp.effects) > 0 {
		r.onlyHarm(sp, ws)
		return
	}
	operands, rest := r.flagsOf(sp, ws)
	if r.done || r.toolFile(sp, operands) {
		return
	}
	if sp.Some && len(operands) == 0 && r.class == "" {
		r.note(sp.Name + " without a target")
	}
	if len(sp.subs) > 0 {
		if r.descend(sp, operands, rest) {
			return
		}
		r.harm(sp.effects...)
	}
	if sp.Inner != nil {
		r.enter(sp, ws, append(operands, rest...))
		return
	}
	if sp.rest == nil {
		r.arguments(sp, append(slices.Clip(operands), rest...))
	} else {
		r.arguments(sp, operands)
		r.after(sp.rest, rest)
	}
	r.needs(sp)
	r.settle(sp.Class)
}

// onlyHarm is a command of which only the harm is known. Asking its version is harmless for most.
func (r *reading) onlyHarm(sp *spec, ws []word) {
	if len(ws) == 1 && ws[0].text == "--version" && r.call.Sub == "" && !ws[0].fed && !slices.ContainsFunc(sp.effects, atOnce) {
		r.effects, r.call.Class = nil, "read"
		return
	}
	r.note(r.call.Command)
	r.scan(ws)
	r.carried(sp, ws)
}

// atOnce is harm that an old or foreign version of a program may do whatever it is given.
func atOnce(effect string) bool {
	return slices.Contains([]string{"delete", "disk", "power", "privilege", "kill", "background", "persist"}, effect)
}

// descend reads the sub-command that operands start with.
func (r *reading) descend(sp *spec, operands, rest []word) bool {
	if len(operands) == 0 {
		if len(rest) > 0 {
			r.note("--")
		}
		if !sp.Bare && len(r.seen) == 0 {
			r.note(sp.Name + " without a sub-command")
		}
		if sp.Inner != nil || sp.Bare {
			return false
		}
		r.harm(sp.effects...)
		r.settle(sp.Class)
		return true
	}
	w := operands[0]
	sub := sp.subs[w.text]
	if sub == nil || w.fed || w.dynamic || w.unread {
		if sp.Inner != nil || (sp.Bare && sp.mayBeOperand(w)) {
			return false
		}
		r.note(w.text)
		r.harm(sp.effects...)
		r.scan(operands[1:])
		return true
	}
	if r.call.Sub != "" {
		r.call.Sub += " "
	}
	r.call.Sub += w.text
	if sp.Spread {
		sub = sub.spread(sp)
	}
	r.read(sub, operands[1:])
	return true
}

// mayBeOperand tells an operand from a sub-command that the table does not know: it looks like a path or a pattern.
func (s *spec) mayBeOperand(w word) bool {
	if len(s.args) == 0 || (s.args[0].role != "read" && s.args[0].role != "exec") {
		return true
	}
	return w.glob || w.fed || strings.ContainsAny(w.text, "./*") || strings.HasPrefix(w.text, "test_") || slices.Contains(folders, w.text)
}

// folders are names that no tool has for a sub-command.
var folders = strings.Fields("src test tests spec specs lib libs app apps docs packages scripts internal cmd pkg examples e2e web server client frontend backend")

// spread is the sub-command with its parent's flags allowed too.
func (s *spec) spread(parent *spec) *spec {
	out := *s
	out.flags = map[string]*flag{}
	for name, f := range parent.flags {
		out.flags[name] = f
	}
	for name, f := range s.flags {
		out.flags[name] = f
	}
	out.prefixes = append(slices.Clone(s.prefixes), parent.prefixes...)
	sortPrefixes(out.prefixes)
	out.Spread = len(s.subs) > 0
	return &out
}

// toolFile reads `php vendor/bin/phpunit` as phpunit: an interpreter that is given a file of the repository which is a tool
// that the tables know.
func (r *reading) toolFile(sp *spec, ws []word) bool {
	if len(sp.args) == 0 || sp.args[0].role != "script" || len(ws) == 0 || len(sp.subs) > 0 || len(r.effects) > 0 {
		return false
	}
	name := path.Base(ws[0].text)
	tool := r.l.tab.tools[name]
	if tool == nil {
		name = strings.TrimSuffix(name, path.Ext(name))
		tool = r.l.tab.tools[name]
	}
	if tool == nil || !tool.Local || tool.Eco != sp.Eco || tool.Module || ws[0].glob || r.l.place("exec", ws[0].text) != "repo" || len(sp.modes) > 0 && r.class != "" {
		return false
	}
	r.wrappers = append(r.wrappers, r.call.Command)
	r.start(ws)
	r.toolIs(tool, name)
	r.read(tool, ws[1:])
	return true
}

// after reads what follows --, when it is meant for another program.
func (r *reading) after(sp *spec, ws []word) {
	if len(ws) == 0 {
		return
	}
	operands, rest := r.flagsOf(sp, ws)
	r.arguments(sp, append(slices.Clip(operands), rest...))
	r.needs(sp)
}

func (r *reading) needs(sp *spec) {
	if len(sp.need) == 0 || r.only {
		return
	}
	for _, f := range sp.need {
		if slices.Contains(r.seen, f) {
			return
		}
	}
	r.harm(sp.lacking...)
}

// settle decides the class. A script decides by its name, a flag such as --version overrides.
func (r *reading) settle(class string) {
	switch {
	case r.class != "":
		r.call.Class = r.class
	case r.target == "neutral":
		r.note(strings.Join(r.scripts, " "))
		r.promise("delete")
	case r.target != "":
		r.call.Class = r.target
	case class != "":
		r.call.Class = class
	}
	if r.call.Class == "filter" && slices.ContainsFunc(r.operands, func(o Operand) bool { return o.Role == "read" }) {
		r.call.Class = "read"
	}
}

// arguments gives operands their roles.
func (r *reading) arguments(sp *spec, ws []word) {
	args := sp.args
	for _, f := range r.seen {
		if m, ok := sp.modes[f]; ok {
			args = m
		}
	}
	for _, f := range sp.skip {
		if slices.Contains(r.seen, f) && len(args) > 0 {
			args = args[1:]
			break
		}
	}
	if r.feed != nil && len(ws) >= 0 {
		ws = r.fed(args, ws)
	}
	for i, w := range ws {
		if len(args) == 0 || (i >= len(args) && !args[len(args)-1].repeat) {
			r.note(w.text)
			continue
		}
		a := args[min(i, len(args)-1)]
		if (w.glob || w.fed) && !a.repeat {
			r.note(w.text)
			continue
		}
		r.use(sp, a.role, a.list, w)
	}
}

// fed adds the operands that come from a pipe. A name may start with a dash: then it is a flag, which is harmless only
// for a tool without harmful flags, or after --.
func (r *reading) fed(args []argument, ws []word) []word {
	if slices.ContainsFunc(ws, func(w word) bool { return w.fed }) {
		return ws
	}
	if len(args) == 0 || !args[len(args)-1].repeat || len(ws) < len(args)-1 {
		r.note("operands from a pipe")
		return ws
	}
	return append(slices.Clone(ws), word{text: r.feed.text(), fed: true})
}
