package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A project's script is judged by its name alone: it is expected to check something when a word of the name says so and no
// word says that it changes something.
var (
	verifying = strings.Fields("test tests tested testing spec specs check checks checker lint lints linter linting typecheck types typing tsc verify " +
		"verified verification validate validation validator build builds compile ci coverage cov e2e unit integration smoke bench benchmark benchmarks " +
		"audit prove proof doctor health conformance regression selftest assert qa vet quality style precommit configure rspec functional acceptance " +
		"cibuild assemble examples doctest doctests fmtcheck runtest runtests unittest unittests selftests inttest inttests testsuite escriptize")
	changing = strings.Fields("deploy deployment publish published publishing release releases clean cleanup install uninstall reinstall push upload fix " +
		"fixes autofix write update updates upgrade migrate seed reset drop delete remove rm destroy prune purge wipe serve start stop restart watch setup " +
		"bootstrap commit tag sign notarize provision apply rollback promote ship send notify announce restore overwrite regenerate accept approve bless " +
		"record rewrite kill nuke sudo submit bump")
)

// splitName splits at everything that is no letter and where case changes: allTests, test:unit, java9Test.
func splitName(name string) []string {
	var out []string
	var cur strings.Builder
	flush := func() {
		if cur.Len() > 0 {
			out = append(out, strings.ToLower(cur.String()))
			cur.Reset()
		}
	}
	prev := ' '
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c):
			flush()
		case unicode.IsUpper(c) && unicode.IsLower(prev):
			flush()
			cur.WriteRune(c)
		default:
			cur.WriteRune(c)
		}
		prev = c
	}
	flush()
	return out
}

// nameClass is check for a name that promises to verify, change for one that promises to change something, else "".
func (r *reading) nameClass(sp *spec, name string) string {
	verifies, whole := false, strings.ToLower(name)
	words := splitName(name)
	if strings.Contains(whole, "e2e") {
		words = append(words, "e2e")
	}
	if path.Ext(whole) == ".t" {
		words = append(words, "test")
	}
	for _, w := range words {
		if slices.Contains(changing, w) {
			return "change"
		}
		verifies = verifies || slices.Contains(verifying, w) || (sp != nil && slices.Contains(sp.words, w))
	}
	if tool := r.l.tab.tools[name]; tool != nil && tool.Class == "check" && len(tool.effects) == 0 {
		verifies = true
	}
	if verifies {
		return "check"
	}
	return ""
}

// targetName reads the name of a project's script or build target.
func (r *reading) targetName(sp *spec, name string) {
	r.scripts = append(r.scripts, name)
	switch {
	case slices.Contains(sp.neutral, name):
		if r.target == "" {
			r.target = "neutral"
		}
	case listed(sp.targets, name) && plainWord.MatchString(name):
		r.verified()
	case strings.Contains(name, "="):
		r.scripts = r.scripts[:len(r.scripts)-1]
		r.language("makevar", name)
	case builtFile.MatchString(name):
		r.verified()
	case !targetText.MatchString(name), foreignGoal.MatchString(name):
		r.target = "unknown"
		r.note(name)
	default:
		r.named(r.nameClass(sp, name), name)
	}
}

// builtFile is a target that is the file it makes.
var builtFile = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_/-]*\.(exe|o|a|so|bin|wasm|jar|html|pdf)$`)

// foreignGoal is a goal of Maven by the full name of its plugin, which would be fetched.
var foreignGoal = regexp.MustCompile(`^[^:]*\.[^:]*:`)

var targetText = regexp.MustCompile(`^[A-Za-z0-9_.:@/*-]+$`)

func (r *reading) verified() {
	if r.target == "" || r.target == "neutral" {
		r.target = "check"
	}
}

func (r *reading) named(class, name string) {
	switch class {
	case "check":
		r.verified()
		return
	case "change":
		r.promise("execute")
		r.promise(changeEffects(name)...)
	}
	r.target = "unknown"
	if r.l.via != "" {
		r.unnamed = append(r.unnamed, shown(name))
		return
	}
	r.note(name)
}

// changeEffects names the harm in a script's name, for the reason that people read.
func changeEffects(name string) (out []string) {
	for _, w := range splitName(name) {
		switch w {
		case "deploy", "deployment", "rollback", "promote", "provision", "ship":
			out = append(out, "deploy")
		case "publish", "published", "publishing", "release", "releases", "upload", "submit":
			out = append(out, "publish")
		case "clean", "cleanup", "delete", "remove", "rm", "destroy", "prune", "purge", "wipe", "drop", "reset", "nuke":
			out = append(out, "delete")
		case "install", "uninstall", "reinstall", "setup", "bootstrap":
			out = append(out, "install")
		case "fix", "fixes", "autofix", "write", "update", "updates", "rewrite", "overwrite", "regenerate":
			out = append(out, "overwrite")
		}
	}
	return out
}

// script reads the path of a file of the repository that is run as a program.
func (r *reading) script(file string) {
	place := r.l.place("exec", file)
	r.operand("exec", file, place)
	r.scripts = append(r.scripts, file)
	if place != "repo" && place != "artifact" {
		r.target = "unknown"
		r.note(file)
		r.harm("execute")
		return
	}
	if !targetText.MatchString(file) || strings.HasPrefix(file, "-") || strings.ContainsAny(file, "@:") {
		r.target = "unknown"
		r.note(file)
		return
	}
	if class := r.nameClass(nil, path.Clean(file)); class != "check" {
		r.named(class, file)
		if r.l.via == "" { // else it is what the project itself runs, and we do not see
			r.harm("execute")
		}
		return
	}
	r.verified()
}

// steeringArg are names of flags that commonly make a script run, load or write something else.
var steeringArg = strings.Fields("exec eval cmd command shell require import plugin plugins loader output out outfile save dest destination " +
	"force yes url host token password config preload")

var (
	plainWord = regexp.MustCompile(`^[\pL\pN_.,:@%+=/#*\[\] -]*$`)
	bareFlag  = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_.:-]*$`)
)

// plainArg reports whether an argument can be handed to a program of the project: plain text that names no change.
func plainArg(text string) bool {
	if !plainWord.MatchString(text) {
		return false
	}
	if !strings.HasPrefix(text, "-") {
		return true
	}
	if text == "-e" || text == "-c" || text == "-u" || text == "-r" || text == "-o" || text == "-i" || text == "-w" || text == "-y" {
		return false
	}
	name, value, _ := strings.Cut(text, "=")
	if !bareFlag.MatchString(name) {
		return false // a value is attached to it in a way that we cannot see
	}
	if value == "false" {
		return true // --watch=false turns it off
	}
	for _, w := range splitName(name) {
		if slices.Contains(changing, w) || slices.Contains(steeringArg, w) {
			return false
		}
	}
	return true
}

// scriptArgs reads what a project's script is given. Its flags are unknown, so the words are judged: no change, no code, no
// path that leads out of the repository.
func (r *reading) scriptArgs(ws []word) {
	for _, w := range ws {
		if w.text == "--" && !w.fed {
			continue
		}
		r.args = append(r.args, w.text)
		if w.fed || w.glob || w.dynamic || w.unread || !plainArg(w.text) {
			r.note(w.text)
			continue
		}
		value := w.text
		if strings.HasPrefix(value, "-") {
			var found bool
			if _, value, found = strings.Cut(value, "="); !found {
				continue
			}
		} else if r.nameClass(nil, value) == "change" && !strings.ContainsAny(value, "/.") {
			r.note(value)
			continue
		}
		switch place := r.l.place("read", value); place {
		case "repo", "null", "artifact":
		default:
			r.operand("read", value, place)
			r.note(value)
			if place == "secret" {
				r.harm("secret")
			}
		}
	}
}
