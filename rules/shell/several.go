package shell

import (
	"path"
	"strings"
)

// several reads a program that runs several scripts of package.json, or several command lines. It is known only within a
// script, where what it runs can be looked up.
func (r *reading) several(name string, ws []word) bool {
	if r.l.via == "" {
		return false
	}
	switch name {
	case "npm-run-all", "run-s", "run-p":
		for _, w := range ws {
			if strings.HasPrefix(w.text, "-") {
				continue
			}
			if w.unread || w.dynamic || w.fed {
				r.note(w.text)
				continue
			}
			r.scripts = append(r.scripts, w.text)
		}
	case "concurrently":
		for _, w := range ws {
			if w.unread || w.dynamic || w.fed {
				r.note(w.text)
			} else if !strings.HasPrefix(w.text, "-") {
				r.lines = append(r.lines, w.text)
			}
		}
	default:
		return false
	}
	r.call.Command, r.call.Class = name, "check"
	return true
}

// line reads a command line that a call runs as it is. `npm:NAME` is short for npm run NAME.
func (l *lowerer) line(b *body, c *Call, text string) {
	tool, name, _ := strings.Cut(text, ":")
	if _, known := runnerOf(tool); known && name != "" {
		l.ask(b, c, ask{tool: "npm-run-all", name: name, must: true})
		return
	}
	for _, d := range l.ok {
		dir := within(l.root, d)
		if strings.HasPrefix(dir, "/") {
			b.missing = true
			continue
		}
		dir = path.Join(l.prefix, dir)
		l.body(b, c, dir, dir+" "+text, c.Name, script{parts: []part{{text: text}}})
	}
}
