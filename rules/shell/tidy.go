package shell

import (
	"path"
	"regexp"
	"strings"
)

// Inside a project's script some things are ordinary that nobody has to do to confirm a claim: a build removes its old
// output, makes a folder for the new, copies files into it and makes one executable. They do no harm as long as all they
// touch are places that builds write to anyway.

// tidyFolder is a relative path in a folder, or to a file, that builds and tests make and can make again.
var tidyFolder = regexp.MustCompile(`(^|/)(dist|build|out|target|coverage|htmlcov|esm|cjs|umd|_build|tmp|temp|reports?|test-results?|playwright-report|` +
	`storybook-static|__pycache__|node_modules/\.cache|\.(nyc_output|next|nuxt|output|turbo|cache|parcel-cache|svelte-kit|pytest_cache|mypy_cache|ruff_cache|` +
	`coverage|tmp|eslintcache|vite|angular/cache))(/.*)?$|\.(tsbuildinfo|pyc|gcda|gcno|o)$`)

// tidyPath reports whether a path is such a place from each folder the command may run in.
func (l *lowerer) tidyPath(value string) bool {
	if value == "" || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "-") {
		return false
	}
	rel := strings.ToLower(within(l.root, path.Clean(value)))
	if strings.HasPrefix(rel, "/") || !tidyFolder.MatchString(rel) {
		return false
	}
	for _, d := range l.ok {
		if p := placeOf("write", l.root, d, value); p != "artifact" && p != "repo" {
			return false
		}
	}
	return len(l.ok) > 0
}

var (
	tidyFlags = regexp.MustCompile(`^-[rRfvpdaLPTn]+$|^--(recursive|force|verbose|parents|archive|glob|silent)$`)
	tidyMode  = regexp.MustCompile(`^([ugoa]*[+-][rwxX]+|0?[0-7]{3})$`)
)

// tidies reads a command that works on files, in a script. It reports whether it is one that only tidies up.
func (r *reading) tidies(name string, ws []word) bool {
	if r.l.via == "" {
		return false
	}
	if name == "shx" && len(ws) > 0 {
		name, ws = ws[0].text, ws[1:]
	}
	var operands []string
	for _, w := range ws {
		switch {
		case w.fed || w.dynamic || w.unread || !isASCII(w.text):
			return false
		case tidyFlags.MatchString(w.text) && len(operands) == 0, w.text == "--":
		default:
			operands = append(operands, w.text)
		}
	}
	if len(operands) == 0 || !r.tidy(name, operands) {
		return false
	}
	r.call.Command, r.call.Class = name, "print"
	return true
}

func (r *reading) tidy(name string, operands []string) bool {
	last := len(operands) - 1
	switch name {
	case "rm", "rmdir", "unlink", "rimraf", "del", "del-cli":
		return r.allTidy(operands)
	case "mkdir", "mkdirp", "make-dir": // a new folder takes nothing away
		for _, o := range operands {
			if p := r.l.place("write", o); p != "repo" && p != "artifact" {
				return false
			}
		}
		return true
	case "touch", "mv":
		return (name != "mv" || last > 0) && r.allTidy(operands)
	case "cp", "cpr", "ncp", "copyfiles":
		if last < 1 || !r.allTidy(operands[last:]) {
			return false
		}
		for _, o := range operands[:last] {
			place := r.l.place("read", o)
			if place != "repo" && place != "artifact" {
				return false
			}
			r.operand("read", o, place)
		}
		return true
	case "chmod":
		return last > 0 && tidyMode.MatchString(operands[0]) && r.allTidy(operands[1:])
	}
	return false
}

func (r *reading) allTidy(paths []string) bool {
	for _, p := range paths {
		if !r.l.tidyPath(p) {
			return false
		}
	}
	for _, p := range paths {
		r.operand("write", p, "artifact")
	}
	return true
}

// sourced is `. venv/bin/activate`: the repository's own code, that we do not see.
func (r *reading) sourced(name string, ws []word) bool {
	if r.l.via == "" || (name != "." && name != "source") || len(ws) != 1 || ws[0].unread || ws[0].dynamic || ws[0].glob {
		return false
	}
	if place := r.l.place("exec", ws[0].text); place != "repo" && place != "artifact" {
		return false
	}
	r.operand("exec", ws[0].text, "repo")
	r.note(name)
	return true
}

// stamps reports -ldflags as builds use it, to write a version into a program. It could name another linker.
func (r *reading) stamps(f *flag, value string, attached bool, ws []word) bool {
	if r.l.via == "" || f.name != "-ldflags" {
		return false
	}
	if !attached && len(ws) > 1 {
		value = ws[1].text
	}
	return !strings.Contains(value, "ext") && !strings.ContainsAny(value, "`\\") && !strings.Contains(value, "$(")
}
