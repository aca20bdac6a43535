package shell

import (
	"slices"
	"strings"
)

// flagsOf reads the flags among ws. It returns the operands, and apart from them what follows --.
func (r *reading) flagsOf(sp *spec, ws []word) (operands, rest []word) {
	stop := sp.Stop || sp.Inner != nil || len(sp.subs) > 0
	for i := 0; i < len(ws); {
		w := ws[i]
		switch {
		case sp.Style == "none":
			return ws, nil
		case w.text == "--" && !w.fed:
			return operands, ws[i+1:]
		case sp.isFlag(w):
			i += r.flag(sp, ws[i:])
		case stop:
			return append(operands, ws[i:]...), nil
		default:
			operands = append(operands, w)
			i++
		}
	}
	return operands, nil
}

func (s *spec) isFlag(w word) bool {
	if w.fed || len(w.text) < 2 {
		return false
	}
	if w.text[0] == '+' {
		return slices.ContainsFunc(s.prefixes, func(f *flag) bool { return f.name[0] == '+' }) || s.flags[w.text] != nil
	}
	return w.text[0] == '-'
}

// flag reads the flag ws starts with and says how many words it takes.
func (r *reading) flag(sp *spec, ws []word) int {
	text := ws[0].text
	if ws[0].dynamic || ws[0].unread {
		r.note(text)
		return 1
	}
	if sp.Style == "go" && strings.HasPrefix(text, "--") {
		text = text[1:]
	}
	if rest, ok := strings.CutPrefix(text, "-test."); ok && sp.Extra {
		text = "-" + rest // what go test would pass on as -test.X it also takes as -X
	}
	name, value, attached := strings.Cut(text, "=")
	if f := sp.flags[text]; f != nil {
		name, attached = text, false
	}
	if f := sp.flags[name]; f != nil && !strings.HasSuffix(name, "*") {
		return r.given(sp, f, value, attached, ws)
	}
	if f := sp.number(text); f != nil {
		return r.given(sp, f, "", false, ws)
	}
	for _, f := range sp.prefixes {
		if rest, ok := strings.CutPrefix(text, strings.TrimSuffix(f.name, "*")); ok && (rest != "" || f.role == "") {
			return r.given(sp, f, rest, true, ws)
		}
	}
	if f := standard(ws[0].text); f != nil {
		r.only = true
		return r.given(sp, f, "", false, ws)
	}
	if (sp.Style == "" || sp.Style == "gnu") && text[1] != '-' {
		return r.cluster(sp, text[1:], ws)
	}
	if sp.Extra {
		return r.extraFlag(ws[0])
	}
	r.note(text)
	return 1
}

// number finds -# for -20.
func (s *spec) number(text string) *flag {
	if f := s.flags["-#"]; f != nil && strings.Trim(text[1:], "0123456789") == "" {
		return f
	}
	return nil
}

// standard flags exist in every known tool; they only print.
func standard(text string) *flag {
	switch text {
	case "--help":
		return &flag{name: text, class: "print"}
	case "--version":
		return &flag{name: text, class: "read"}
	}
	return nil
}

// given takes note of one flag, and of its value.
func (r *reading) given(sp *spec, f *flag, value string, attached bool, ws []word) int {
	r.seen = append(r.seen, f.name)
	if !r.stamps(f, value, attached, ws) {
		r.harm(f.effects...)
	}
	if f.class != "" {
		r.class = f.class
	}
	switch {
	case f.role == "":
		if attached && !isBool(value) && !strings.HasSuffix(f.name, "*") {
			r.note(ws[0].text)
		}
		return 1
	case f.role == "inner":
		return r.innerFlag(f, ws)
	case attached:
		w := ws[0].literal()
		w.text = value
		r.use(sp, f.role, f.list, w)
		return 1
	case f.attach:
		return 1
	case len(ws) < 2:
		r.note(ws[0].text + " without a value")
		return 1
	}
	if ws[1].glob {
		r.note(ws[1].text)
	}
	r.use(sp, f.role, f.list, ws[1])
	return 2
}

func isBool(s string) bool { return s == "true" || s == "false" }

// cluster reads -abc as -a -b -c, where one that takes a value takes the rest.
func (r *reading) cluster(sp *spec, letters string, ws []word) int {
	for i := range len(letters) {
		f := sp.flags["-"+letters[i:i+1]]
		if f == nil {
			r.note(ws[0].text)
			return 1
		}
		rest := letters[i+1:]
		if f.role != "" && (rest != "" || !f.attach) {
			return r.given(sp, f, rest, rest != "", ws)
		}
		r.given(sp, f, "", false, ws[:1])
	}
	return 1
}

// extraFlag is one that the tool passes on to the project's own program (a test binary): opaque, unless its name says that
// it rewrites something.
func (r *reading) extraFlag(w word) int {
	if !plainArg(w.text) {
		r.note(w.text)
	}
	return 1
}
