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

	scripts  []string // names of scripts of the project that it runs
	args     []string // what the last of them is given
	dirs     []string // folders that flags send it to, one after the other
	lines    []string // command lines that it runs
	asks     []ask    // scripts that it would run if there were any of that name
	promised []string // harm in the names of scripts, see reading.promise
	unnamed  []string // names of scripts that promise nothing
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
	case strings.HasPrefix(name, "~"):
		return "outside"
	case !strings.Contains(name, "/"):
		return "bare"
	case strings.HasPrefix(name, "/"):
		return "absolute"
	}
	if clean := path.Clean(name); clean == ".." || strings.HasPrefix(clean, "../") {
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
	args     []string // of scripts
	lines    []string
	asks     []ask
	promised []string
	unnamed  []string // within a script, where the text of these may show what they do
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
	c.ScriptOpaque = c.Script != ""
	return result{
		call: *c, drop: r.drop, shell: r.shell, extra: r.extra,
		scripts: r.scripts, args: r.args, dirs: r.dirs(), lines: r.lines, asks: r.asks, promised: distinct(r.promised), unnamed: r.unnamed,
	}
}

// dirs are the folders that flags send the command to.
func (r *reading) dirs() (out []string) {
	for _, o := range r.operands {
		if o.Role == "dir" {
			out = append(out, o.Value)
		}
	}
	return out
}

// promise records harm of which there is only the name of a script. Within a script, the text of the one that is named
// may show better.
func (r *reading) promise(effects ...string) {
	if r.l.via != "" {
		r.promised = append(r.promised, effects...)
		return
	}
	r.harm(effects...)
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
		if r.l.via == "" || w.fed { // a program that is the value of a variable is ordinary in a script
			r.harm("execute")
		}
		return
	}
	if name := ws[0].text; r.call.PathKind == "bare" && (r.tidies(name, ws[1:]) || r.sourced(name, ws[1:]) || r.several(name, ws[1:])) {
		r.call.Tool, r.call.Eco = name, "scripts"
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
	if r.l.via != "" { // of a program that nobody knows, the words are all there is
		r.promised = append(r.promised, changeEffects(name)...)
		if len(ws) > 1 {
			r.promised = append(r.promised, changeEffects(ws[1].text)...)
		}
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
		res := in.finish()
		r.harm(append(res.call.Effects, res.promised...)...)
		return
	}
}
