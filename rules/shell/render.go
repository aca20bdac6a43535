package shell

import (
	"strconv"
	"strings"
)

// String shows a plan in one line, for people and tests: and(run(go vet), run(go test | …)). It is not shell.
func (p Plan) String() string {
	if p.Op == OpRun {
		return p.Exec.String()
	}
	kids := make([]string, len(p.Kids))
	for i, k := range p.Kids {
		kids[i] = k.String()
	}
	return string(p.Op) + "(" + strings.Join(kids, ", ") + ")"
}

// String shows a process: its assignments, arguments, redirections, and * when its status counts.
func (e *Exec) String() string {
	var out []string
	for _, a := range e.Env {
		out = append(out, a.Name+"="+a.Value.String())
	}
	if e.Builtin != "" {
		out = append(out, "@"+e.Builtin)
	}
	for _, w := range e.Argv {
		out = append(out, w.String())
	}
	for _, r := range e.Redirs {
		out = append(out, r.String())
	}
	if e.Checks {
		out = append(out, "*")
	}
	return strings.Join(out, " ")
}

// String shows a word; a part that is not final text is marked.
func (w Word) String() string {
	var b strings.Builder
	for _, p := range w {
		switch p.Kind {
		case "lit":
			b.WriteString(p.Text)
		case "glob":
			b.WriteString("<" + p.Text + ">")
		default:
			b.WriteString("$" + p.Kind + p.Text)
		}
	}
	s := b.String()
	if s == "" || strings.ContainsAny(s, " \t\n,()") {
		return strconv.Quote(s)
	}
	return s
}

func (a FDAction) String() string {
	switch {
	case a.Read:
		return strconv.Itoa(a.FD) + "<" + a.File
	case a.File != "":
		return strconv.Itoa(a.FD) + ">" + a.File
	}
	return strconv.Itoa(a.FD) + ">&" + strconv.Itoa(a.From)
}
