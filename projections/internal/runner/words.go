package runner

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dalkkak/dkgraph/rules/shell"
)

// A state is what a shell would keep between two commands.
type state struct {
	dir     string // working folder, as cd would show it
	status  int    // $?
	pipe    []int  // PIPESTATUS
	decider int    // the exec, by ordinal, that status came from; -1 at the start
}

// maxArgBytes bounds the argument vectors of all commands of a plan after expansion. They are recorded, and an event has
// a limit.
const maxArgBytes = 48 << 10

// expand turns the words of a command into its argument vector.
func (e *executor) expand(words []shell.Word, st *state) ([]string, error) {
	var argv []string
	for _, w := range words {
		fields, err := e.expandWord(w, st)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			if strings.ContainsRune(f, 0) {
				return nil, problemf(StartError, "an argument holds a NUL byte")
			}
			if e.argBytes += len(f) + 1; e.argBytes > maxArgBytes {
				return nil, problemf(StartError, "more than %d bytes of arguments", maxArgBytes)
			}
		}
		argv = append(argv, fields...)
	}
	return argv, nil
}

// expandWord gives the fields that one word becomes: one, unless a pattern in it matches several names.
func (e *executor) expandWord(w shell.Word, st *state) ([]string, error) {
	glob := slices.ContainsFunc(w, func(p shell.Part) bool { return p.Kind == "glob" })
	if !glob {
		text, err := e.value(w, st)
		return []string{text}, err
	}
	var pattern strings.Builder
	for _, p := range w {
		if p.Kind == "glob" {
			pattern.WriteString(p.Text)
			continue
		}
		text, err := partText(p, st)
		if err != nil {
			return nil, err
		}
		pattern.WriteString(quotePattern(text))
	}
	return e.glob(pattern.String(), st.dir)
}

// value is a word as one text, patterns as written: that of an assignment.
func (e *executor) value(w shell.Word, st *state) (string, error) {
	var b strings.Builder
	for _, p := range w {
		text, err := partText(p, st)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func partText(p shell.Part, st *state) (string, error) {
	switch p.Kind {
	case "lit":
		return p.Text, nil
	case "glob":
		return unquotePattern(p.Text), nil
	case "status":
		return strconv.Itoa(st.status), nil
	case "pipestatus":
		n, err := strconv.Atoi(p.Text)
		if err != nil || n < 0 {
			return "", problemf(StartError, "no such element of PIPESTATUS: %q", p.Text)
		}
		if n >= len(st.pipe) {
			return "", nil
		}
		return strconv.Itoa(st.pipe[n]), nil
	}
	return "", problemf(StartError, "unknown part of a word: %q", p.Kind)
}

func quotePattern(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[]\!^-`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unquotePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isPattern says whether s has something to match in it, not only escapes.
func isPattern(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// glob expands a pattern as bash would in dir: sorted by bytes, as written when nothing matches, names that start with
// a dot only where the pattern does. It does not read a folder outside of the root, and no name it finds may look like
// a flag: the text that was judged had none there.
func (e *executor) glob(pattern, dir string) ([]string, error) {
	if strings.Contains(pattern, "[:") || strings.Contains(pattern, "[.") || strings.Contains(pattern, "[=") {
		return nil, problemf(StartError, "a class in the pattern %s is not supported", pattern)
	}
	found := []string{""}
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		next, err := e.globPart(found, part, dir, last)
		if err != nil {
			return nil, err
		}
		found = next
	}
	if len(found) == 0 {
		return []string{unquotePattern(pattern)}, nil
	}
	slices.Sort(found)
	for _, f := range found {
		if strings.HasPrefix(f, "-") {
			return nil, problemf(StartError, "the pattern %s finds %s, which looks like a flag", pattern, f)
		}
		if !insideResolved(e.task.Root, dirOf(absFrom(dir, f))) {
			return nil, problemf(StartError, "the pattern %s finds %s, outside of the granted folder", pattern, f)
		}
	}
	return found, nil
}

// globPart goes one path element further from each of the paths found so far.
func (e *executor) globPart(found []string, part, dir string, last bool) ([]string, error) {
	var next []string
	for _, base := range found {
		if !isPattern(part) {
			if p := base + unquotePattern(part); !last {
				next = append(next, p+"/")
			} else if _, err := os.Lstat(absFrom(dir, p)); err == nil {
				next = append(next, p)
			}
			continue
		}
		names, err := e.namesIn(absFrom(dir, base), part)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if last {
				next = append(next, base+name)
			} else if info, err := os.Stat(absFrom(dir, base+name)); err == nil && info.IsDir() {
				next = append(next, base+name+"/")
			}
		}
		if len(next) > maxArgBytes {
			return nil, problemf(StartError, "the pattern part %s finds too many names", part)
		}
	}
	return next, nil
}

// namesIn lists the names in a folder that match one element of a pattern.
func (e *executor) namesIn(folder, part string) ([]string, error) {
	if !insideResolved(e.task.Root, folder) {
		return nil, problemf(StartError, "a pattern would look into %s, outside of the granted folder", folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil // as in a shell: what cannot be read has no names
	}
	expr := strings.ReplaceAll(part, "[!", "[^")
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, `\.`) {
			continue
		}
		if ok, err := path.Match(expr, name); err == nil && ok {
			names = append(names, name)
		}
	}
	return names, nil
}
