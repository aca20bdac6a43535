package shell

import (
	"path"
	"slices"
	"strings"
)

const maxWrappers = 8

// A result is what the tables say of one simple command.
type result struct {
	call  Call
	drop  int        // leading words that are no part of the program's arguments (command)
	shell *shellCall // its text is to be lowered in its place
	extra []Call     // commands that it starts itself (find -exec)
}

// newCall starts at the worst: unknown, of no class.
func newCall(name string, ws []word) Call {
	c := Call{
		Name: path.Base(name), PathKind: pathKind(name), Class: "unknown",
		Argv: []string{}, Unknown: []string{}, Flags: []string{}, Operands: []Operand{}, Wrappers: []string{},
		Env: []EnvVar{}, Redirs: []Redirect{}, Effects: []string{},
	}
	for _, w := range ws {
		c.Argv = append(c.Argv, w.text)
	}
	return c
}

func pathKind(name string) string {
	switch {
	case !strings.Contains(name, "/"):
		if strings.HasPrefix(name, "~") {
			return "outside"
		}
		return "bare"
	case strings.HasPrefix(name, "/"):
		return "absolute"
	}
	if clean := path.Clean(name); clean == ".." || strings.HasPrefix(clean, "../") || name[0] == '~' {
		return "outside"
	}
	return "repo"
}

// classify peels wrappers and reads the command inside them.
func (l *lowerer) classify(ws []word, env []EnvVar) result {
	r := &reading{l: l, wrappers: []string{}, env: env, whole: ws}
	r.peel(ws)
	return r.finish()
}

// A reading is one command being read.
type reading struct {
	l        *lowerer
	call     Call
	env      []EnvVar
	wrappers []string
	unknown  []string
	effects  []string
	seen     []string // flags, as the table spells them
	scripts  []string
	operands []Operand
	class    string // class forced by a flag
	target   string // class found from the names of scripts: check or unknown; "" when there are none
	outer    []string
	depth    int
	whole    []word
	feed     *feed // operands of the command come from here
	drop     int
	done     bool // the words were read as another command
	only     bool // --help or --version: nothing else happens
	shell    *shellCall
	extra    []Call
}

func (r *reading) finish() result {
	c := &r.call
	c.Wrappers, c.Unknown, c.Effects = r.wrappers, distinct(r.unknown), distinct(append(r.effects, r.outer...))
	c.Operands, c.Script = append(c.Operands, r.operands...), strings.Join(r.scripts, " ")
	c.Flags = distinct(r.seen)
	c.Env = append(c.Env, r.env...)
	for _, v := range c.Env {
		if v.Class == "steering" {
			c.Effects = distinct(append(c.Effects, "config"))
		}
	}
	c.Known = c.Tool != "" && len(c.Unknown) == 0
	r.whereCode()
	slices.Sort(c.Flags)
	slices.Sort(c.Effects)
	return result{call: *c, drop: r.drop, shell: r.shell, extra: r.extra}
}

// whereCode records where the code of a check comes from when that is not the repository: cd /tmp/x && make test.
func (r *reading) whereCode() {
	c := &r.call
	if place := r.l.place("exec", "."); c.Class == "check" && place != "repo" && place != "artifact" {
		c.Operands = append(c.Operands, Operand{Value: ".", Role: "exec", Place: place})
		c.Effects = distinct(append(c.Effects, "execute"))
	}
}

func distinct(in []string) []string {
	out := []string{}
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r *reading) note(format string) { r.unknown = append(r.unknown, shown(format)) }

func (r *reading) harm(effects ...string) { r.effects = append(r.effects, effects...) }

// start makes ws the command that is read; what wrappers around it have shown stays.
func (r *reading) start(ws []word) {
	r.outer = append(r.outer, r.effects...)
	r.effects, r.seen, r.operands, r.class = nil, nil, nil, ""
	r.call = newCall(ws[0].text, ws)
	for _, w := range ws {
		if w.unread {
			r.note(w.text)
		}
	}
}

// peel reads ws as a command, and again what is inside it when it is a wrapper.
func (r *reading) peel(ws []word) {
	r.start(ws)
	if r.depth++; r.depth > maxWrappers {
		r.note("too many wrappers")
		return
	}
	if w := ws[0]; w.fed || w.glob || w.dynamic || w.unread || !isASCII(w.text) {
		r.note(w.text)
		r.harm("execute")
		return
	}
	sp := r.find(ws[0].text)
	if sp == nil {
		r.strange(ws)
		return
	}
	r.toolIs(sp, path.Base(ws[0].text))
	r.read(sp, ws[1:])
}

// toolIs names the tool; what it is called by may be another name for it.
func (r *reading) toolIs(sp *spec, name string) {
	if canon := r.l.tab.canon[name]; canon != "" {
		name = canon
	}
	r.call.Tool, r.call.Eco = name, sp.Eco
}

// find looks up a program. A path is the tool it names only in the folders of the system, or in the repository for tools
// that run the repository's own code anyway.
func (r *reading) find(name string) *spec {
	sp := r.l.tab.tools[path.Base(name)]
	switch r.call.PathKind {
	case "bare":
		if sp != nil && sp.Module {
			return nil
		}
		return sp
	case "absolute":
		if slices.Contains(systemFolders, path.Dir(name)) || (sp != nil && len(sp.effects) > 0) {
			return sp
		}
	case "repo":
		if sp != nil && (sp.Local || len(sp.effects) > 0) && r.l.place("exec", name) == "repo" {
			return sp
		}
	}
	return nil
}

var systemFolders = []string{
	"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/go/bin", "/opt/homebrew/bin",
}

// strange reads a command that no table knows: a script of the repository by its name, anything else not at all.
func (r *reading) strange(ws []word) {
	name := ws[0].text
	if r.call.PathKind == "repo" {
		r.call.Tool, r.call.Eco = "script", "scripts"
		r.script(name)
		r.scriptArgs(ws[1:])
		r.settle("")
		return
	}
	r.note(name)
	if r.call.PathKind != "bare" {
		r.harm("execute")
	}
	r.scan(ws[1:])
}

// scan looks for harm in the arguments of a command that is not understood.
func (r *reading) scan(ws []word) {
	for _, w := range ws {
		if strings.HasPrefix(w.text, "-") {
			_, value, found := strings.Cut(w.text, "=")
			if !found {
				continue
			}
			w.text = value
		}
		switch p := r.l.place("read", w.text); {
		case p == "secret":
			r.operand("opaque", w.text, p)
			r.harm("secret")
		case strings.Contains(w.text, "://") && urlPlace(w.text) != "loopback":
			r.operand("url", w.text, "remote")
			r.harm("network")
		}
	}
}

func (r *reading) operand(role, value, place string) {
	r.operands = append(r.operands, Operand{Value: shown(value), Role: role, Place: place})
}

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
	r.arguments(sp, operands)
	r.after(sp, rest)
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
	return w.glob || w.fed || strings.ContainsAny(w.text, "./*") || slices.Contains(folders, w.text)
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

// after reads what follows --.
func (r *reading) after(sp *spec, rest []word) {
	if len(rest) == 0 {
		return
	}
	if sp.rest == nil {
		r.arguments(sp, rest)
		return
	}
	operands, more := r.flagsOf(sp.rest, rest)
	r.arguments(sp.rest, append(operands, more...))
	r.needs(sp.rest)
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
		r.harm("delete")
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

// carried looks for harm in a command that sp runs in a way that is not modelled (sudo, watch, parallel).
func (r *reading) carried(sp *spec, ws []word) {
	if !slices.Contains(sp.effects, "execute") && !slices.Contains(sp.effects, "privilege") {
		return
	}
	for i, w := range ws {
		if strings.HasPrefix(w.text, "-") || r.depth > maxWrappers {
			continue
		}
		inner := r.l.tab.tools[path.Base(w.text)]
		if inner == nil || (len(inner.effects) == 0 && len(inner.subs) == 0) {
			continue
		}
		in := &reading{l: r.l, depth: r.depth + 1}
		in.peel(ws[i:])
		r.harm(in.finish().call.Effects...)
		return
	}
}
