package shell

import (
	"regexp"
	"slices"
	"strings"
)

// use reads a word in a role.
func (r *reading) use(sp *spec, role string, list []string, w word) {
	if w.dynamic && (role != "v" || sp.Class != "print") {
		r.note(w.text)
		return
	}
	if w.fed {
		r.useFed(role, w)
		return
	}
	switch role {
	case "v":
	case "list":
		if !listed(list, w.text) {
			r.note(w.text)
		}
	case "read", "write", "exec", "dir", "stat", "glob":
		r.path(role, w.text)
	case "rev":
		r.revision(w.text)
	case "url":
		r.url(w.text)
	case "target":
		r.targetName(sp, w.text)
	case "name":
		if r.nameClass(nil, w.text) == "change" {
			r.named("change", w.text)
		}
	case "script":
		r.script(w.text)
	case "arg":
		r.scriptArgs([]word{w})
	default:
		r.language(role, w.text)
	}
}

// listed matches a value against a closed list, where a trailing * stands for any rest.
func listed(list []string, value string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		if head, ok := strings.CutSuffix(s, "*"); ok {
			return strings.HasPrefix(value, head)
		}
		return s == value
	})
}

// language reads a value that is a small program or has a syntax of its own.
func (r *reading) language(role, text string) {
	ok := false
	switch role {
	case "sed":
		ok = sedIsHarmless(text)
	case "awk":
		ok = awkIsHarmless(text)
	case "jq":
		ok = jqIsHarmless(text)
	case "header":
		ok = headerIsHarmless(text)
	case "format":
		ok = !strings.Contains(text, "%output") && !strings.HasPrefix(text, "@")
	case "prop":
		ok = propIsHarmless(text)
	case "makevar":
		ok = makevarIsHarmless(text)
	}
	if !ok {
		r.note(text)
		r.harm("execute")
	}
}

// path records a word that names a file or folder, and the harm that follows from where it is.
func (r *reading) path(role, value string) {
	place := r.l.place(role, value)
	r.operand(role, value, place)
	switch {
	case place == "secret":
		r.harm("secret")
	case place == "remote" && role != "exec":
		r.harm("network")
	case role == "write" && place != "null" && place != "tmp" && place != "artifact":
		r.harm("overwrite")
	case (role == "exec" || role == "dir") && place != "repo" && place != "artifact" && place != "null":
		r.harm("execute")
	}
}

// revision records a git revision or path: HEAD:path and :(magic)path name a file.
func (r *reading) revision(value string) {
	file := value
	if strings.HasPrefix(file, ":(") {
		_, file, _ = strings.Cut(file, ")")
	} else if i := strings.LastIndexByte(file, ':'); i >= 0 {
		file = file[i+1:]
	}
	file = strings.TrimLeft(file, "!^/")
	switch place := r.l.place("read", file); {
	case place == "secret":
		r.operand("read", value, place)
		r.harm("secret")
	case strings.HasPrefix(value, "/"), strings.HasPrefix(value, "../"), value == "..":
		r.path("read", value)
	default:
		r.operand("read", value, "repo")
	}
}

func (r *reading) url(value string) {
	place := urlPlace(value)
	r.operand("url", value, place)
	if place != "loopback" {
		r.harm("network")
	}
}

// localURL is strict on purpose: what it does not match is remote, whatever a clever parser would make of it.
var localURL = regexp.MustCompile(`^(https?://)?(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|0\.0\.0\.0)(:\d{1,5})?([/?][A-Za-z0-9._~/?&=%+,:;*-]*)?$`)

func urlPlace(value string) string {
	if localURL.MatchString(value) {
		return "loopback"
	}
	return "remote"
}

var (
	headerName   = regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`)
	secretHeader = regexp.MustCompile(`(?i)auth|cookie|token|key|secret|session|credential|password|override|forward`)
	plainValue   = regexp.MustCompile(`^[A-Za-z0-9_.,:@%+=#*!-]*$`)
	makeValue    = regexp.MustCompile(`^[A-Za-z0-9_.,:@%+=/-]*$`)
	propKey      = regexp.MustCompile(`^[A-Za-z0-9_.!:-]+$`)
	steeringProp = words(`exec command cmd script shell launcher compiler toolchain classpath class agent arg args line opts options plugin plugins jvm home
		repo repository url uri host proxy server user username password token secret credential include prefix program publish deploy sign file dir path
		output settings ext linker loader cc cxx ar ld launch boot properties flags executable jvmargs javaagent event events run before after import`)
)

// headerIsHarmless: a header that carries no credential and changes no method. @FILE would send a file.
func headerIsHarmless(text string) bool {
	name, value, ok := strings.Cut(text, ":")
	return ok && headerName.MatchString(name) && !secretHeader.MatchString(name) && !strings.HasPrefix(strings.TrimSpace(value), "@")
}

// propIsHarmless: a build property whose name does not choose code, folders or endpoints, with a plain value.
func propIsHarmless(text string) bool {
	key, value, _ := strings.Cut(text, "=")
	for _, w := range splitName(key) {
		if steeringProp[w] {
			return false
		}
	}
	return propKey.MatchString(key) && plainValue.MatchString(value)
}

// makeVars are variables by which people turn up or narrow what a target does.
var makeVars = strings.Fields("V VERBOSE Q QUIET DEBUG CI J JOBS TEST TESTS T PKG PKGS PACKAGE PACKAGES RUN FILTER COUNT RACE SHORT " +
	"COVERAGE COV TIMEOUT VERSION PROFILE RELEASE STRICT SUITE MODULE WERROR ASAN UBSAN MODE TARGET ARCH OS")

// makevarIsHarmless: NAME=VALUE on the command line of make. Any value is put into the text of recipes, so it must be plain.
func makevarIsHarmless(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	if !ok || !makeValue.MatchString(value) || strings.HasPrefix(value, "-") || strings.Contains(value, "..") {
		return false
	}
	if slices.Contains(makeVars, name) {
		return !strings.HasPrefix(value, "/")
	}
	switch value {
	case "0", "1", "2", "yes", "no", "on", "off", "y", "n":
		return isASCII(name) && propKey.MatchString(name)
	}
	return false
}
