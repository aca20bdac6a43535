package shell

import (
	"slices"
	"strings"
)

// A feed is the names that a stage of a pipe hands to xargs, or find to -exec.
type feed struct {
	place string // where they are; "" when the stage before is not known to print names
	dash  bool   // none of them can start with a dash
}

func (f *feed) text() string { return "(names from a pipe)" }

// feedOf says what names a stage prints.
func (l *lowerer) feedOf(p Plan) feed {
	if p.Op != OpRun {
		return feed{}
	}
	c := l.calls[p.Exec.Call]
	if !c.Known || len(c.Effects) > 0 {
		return feed{}
	}
	switch c.Command {
	case "grep", "head", "tail", "sort", "uniq":
		if c.Class == "filter" {
			return l.feed
		}
		if c.Command == "grep" && (slices.Contains(c.Flags, "-l") || slices.Contains(c.Flags, "--files-with-matches")) {
			return feed{place: worstPlace(c.Operands)}
		}
	case "find":
		ws := make([]word, len(c.Argv))
		for i, a := range c.Argv {
			ws[i].text = a
		}
		return feed{place: findPlace(l, ws), dash: true}
	case "rg":
		if slices.Contains(c.Flags, "--files") || slices.Contains(c.Flags, "-l") || slices.Contains(c.Flags, "--files-with-matches") {
			if slices.Contains(c.Flags, "--hidden") || slices.Contains(c.Flags, "-u") {
				return feed{place: "unknown"}
			}
			return feed{place: worstPlace(c.Operands)}
		}
	case "git ls-files", "git diff", "git grep":
		if c.Command == "git ls-files" || slices.Contains(c.Flags, "--name-only") || slices.Contains(c.Flags, "-l") {
			return feed{place: "repo"}
		}
	}
	return feed{}
}

func worstPlace(ops []Operand) string {
	worst := "repo"
	for _, o := range ops {
		if slices.Index(placeOrder, o.Place) > slices.Index(placeOrder, worst) {
			worst = o.Place
		}
	}
	return worst
}

// findPlace is where the names are that a find prints. They are in the repository when every alternative (-o) asks for a
// kind of file by a name that no secret has; otherwise it is unknown, since a walk of everything meets secrets.
func findPlace(l *lowerer, ws []word) string {
	place, named, paths := "repo", false, true
	for i := 1; i < len(ws); i++ {
		switch t := ws[i].text; {
		case t == "-o" || t == "-or":
			if !named {
				return "unknown"
			}
			named = false
		case t == "!" || t == "-not":
			if i+2 >= len(ws) || !contains([]string{"-path", "-name", "-ipath", "-iname"}, ws[i+1].text) {
				return "unknown"
			}
			i += 2
		case t == ",":
			return "unknown"
		case t == "-name" || t == "-iname":
			if i++; i >= len(ws) || !safePattern(ws[i].text) && !pruned(ws[i:]) {
				return "unknown"
			}
			named = true
		case paths && !strings.HasPrefix(t, "-") && t != "(":
			if p := l.place("stat", t); p != "repo" && p != "tmp" {
				return "unknown"
			}
			continue
		}
		paths = false
	}
	if !named {
		return "unknown"
	}
	return place
}

// pruned: what -name X -prune finds is not printed.
func pruned(ws []word) bool { return len(ws) > 2 && ws[1].text == "-prune" && ws[2].text == "-o" }

// safePattern ends in an extension that no secret has.
func safePattern(p string) bool {
	i := strings.LastIndexByte(p, '.')
	return i >= 0 && i < len(p)-1 && !strings.ContainsAny(p[i:], "*?[") && !secretBase(strings.ToLower(p)) &&
		!isSecret("x"+strings.ToLower(p[i:]))
}

// replaced marks the words of an inner command that stand for names from the feed.
func replaced(ws []word, _ *feed, pattern string) []word {
	out := slices.Clone(ws)
	for i := range out {
		if pattern != "" && strings.Contains(out[i].text, pattern) {
			if out[i].text != pattern {
				out[i].dynamic = true
			}
			out[i].fed = true
		}
	}
	return out
}

// replace is the pattern of xargs -I.
func (r *reading) replace() string {
	if !slices.Contains(r.seen, "-I") {
		return ""
	}
	for i, w := range r.whole {
		if w.text == "-I" && i+1 < len(r.whole) {
			return r.whole[i+1].text
		}
		if v, ok := strings.CutPrefix(w.text, "-I"); ok && v != "" {
			return v
		}
	}
	return ""
}

// harmlessFeed refuses names that could be read as a harmful flag.
func (r *reading) harmlessFeed(ws []word) {
	if r.feed.dash || ws[len(ws)-1].text == "--" {
		return
	}
	if sp := r.l.tab.tools[ws[0].text]; sp == nil || !sp.tame() {
		r.note("names from a pipe may be flags")
	}
}

// tame tools have no flag that could harm.
func (s *spec) tame() bool {
	if len(s.subs) > 0 || s.Inner != nil || len(s.effects) > 0 || s.Class == "" {
		return false
	}
	for _, f := range s.flags {
		if len(f.effects) > 0 || f.role == "write" || f.role == "exec" || f.role == "inner" {
			return false
		}
	}
	return s.Class == "read" || s.Class == "filter" || s.Class == "check"
}

// useFed reads an operand that stands for names from a feed.
func (r *reading) useFed(role string, w word) {
	if r.feed == nil || w.dynamic {
		r.note(w.text)
		return
	}
	switch role {
	case "read", "stat", "exec":
		r.operand(role, w.text, r.feed.place)
	case "v":
	default:
		r.note(w.text)
	}
}
