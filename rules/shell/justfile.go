package shell

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A justfile is one that was read, best effort as a makefile is.
type justfile struct {
	vars    map[string]string // the literal ones
	recipes map[string]*recipe
	alias   map[string]string
	first   string
	dark    bool
	shells  []string // backticks outside recipes
}

type recipe struct {
	needs  []string // all of them
	lines  []string
	opaque bool // a need with arguments that is not understood
}

var (
	justAssign = regexp.MustCompile(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_-]*)\s*:=\s*(.*)$`)
	justHead   = regexp.MustCompile(`^@?([A-Za-z_][A-Za-z0-9_-]*)([^:]*):([^=].*)?$`)
	justQuoted = regexp.MustCompile(`^"([^"\\]*)"$|^'([^']*)'$`)
	justTick   = regexp.MustCompile("`([^`]*)`")
	justName   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)
	justVar    = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
)

func readJustfile(text string) *justfile {
	j := &justfile{vars: map[string]string{}, recipes: map[string]*recipe{}, alias: map[string]string{}}
	var cur *recipe
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i > maxMakeLines {
			j.dark = true
			break
		}
		bare := strings.TrimSpace(line)
		switch {
		case cur != nil && (line == "" || line[0] == ' ' || line[0] == '\t'):
			cur.lines = append(cur.lines, line)
		case bare == "" || bare[0] == '#' || bare[0] == '[':
		default:
			cur = j.line(bare)
		}
	}
	return j
}

// line reads a line that is in no recipe; it returns the recipe that starts there.
func (j *justfile) line(line string) *recipe {
	word, rest, _ := strings.Cut(line, " ")
	if a := justAssign.FindStringSubmatch(line); a != nil && word != "alias" && word != "set" {
		if q := justQuoted.FindStringSubmatch(a[2]); q != nil {
			j.vars[a[1]] = q[1] + q[2]
		}
		for _, t := range justTick.FindAllStringSubmatch(a[2], -1) {
			j.shells = append(j.shells, t[1])
		}
		if strings.Contains(a[2], "```") || strings.Contains(a[2], "shell(") {
			j.dark = true
		}
		return nil
	}
	switch {
	case word == "alias":
		name, to, _ := strings.Cut(rest, ":=")
		j.alias[strings.TrimSpace(name)] = strings.TrimSpace(to)
	case word == "set":
		j.dark = j.dark || !strings.HasPrefix(rest, "dotenv-load") && !plainJustShell.MatchString(rest) && strings.Contains(rest, "shell")
	case word == "import" || word == "mod" || strings.HasPrefix(word, "import?") || strings.HasPrefix(word, "mod?"):
		j.dark = true
	default:
		return j.head(line)
	}
	return nil
}

var plainJustShell = regexp.MustCompile(`^shell\s*:=\s*\["(ba|z|da)?sh"(,\s*"-[euxo]*c?"|,\s*"pipefail"|,\s*"-o")*\]$`)

func (j *justfile) head(line string) *recipe {
	h := justHead.FindStringSubmatch(line)
	if h == nil {
		j.dark = true
		return nil
	}
	needs, _, _ := strings.Cut(h[3], "#")
	r := &recipe{opaque: strings.ContainsAny(needs, "()")}
	r.needs = append(r.needs, justName.FindAllString(needs, -1)...)
	for _, t := range justTick.FindAllStringSubmatch(h[2], -1) { // the default of a parameter
		j.shells = append(j.shells, t[1])
	}
	j.recipes[h[1]] = r
	if j.first == "" {
		j.first = h[1]
	}
	return r
}

// justRecipe reads `just NAME`.
func justRecipe(l *lowerer, f File, name string, _ []string) (script, bool) {
	j := readJustfile(string(f.Text))
	if name == "" {
		name = j.first
	}
	s := script{opaque: j.dark}
	found := j.add(l, &s, name, map[string]bool{})
	for _, text := range j.shells {
		s.opaque = true
		s.parts = append(s.parts, part{text: text})
	}
	return s, found
}

// add appends what a recipe does, with what it needs. It reports whether there is such a recipe.
func (j *justfile) add(l *lowerer, s *script, name string, visited map[string]bool) bool {
	if to := j.alias[name]; to != "" {
		name = to
	}
	r := j.recipes[name]
	if r == nil || visited[name] {
		return r != nil
	}
	visited[name] = true
	if len(visited) > maxTargets {
		l.proj.fail("too many recipes in a justfile")
		return true
	}
	s.opaque = s.opaque || r.opaque
	for _, n := range r.needs {
		if !j.add(l, s, n, visited) {
			s.opaque = true
		}
	}
	j.body(s, r)
	return true
}

func (j *justfile) body(s *script, r *recipe) {
	text := strings.Join(dedent(r.lines), "\n")
	text = justVar.ReplaceAllStringFunc(text, func(ref string) string {
		expr := justVar.FindStringSubmatch(ref)[1]
		if v, ok := j.vars[expr]; ok {
			return v
		}
		s.opaque = true
		for _, t := range justTick.FindAllStringSubmatch(expr, -1) {
			s.parts = append(s.parts, part{text: t[1]})
		}
		return "${computed}"
	})
	if bang, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(bang, "#!") {
		words := strings.Fields(bang[2:])
		if len(words) == 0 || !slices.ContainsFunc(words, func(w string) bool { return plainShell.MatchString(path.Base(w)) }) {
			s.opaque = true // another language
			return
		}
		s.parts = append(s.parts, part{text: rest})
		return
	}
	for _, line := range logicalLines("\t" + strings.ReplaceAll(text, "\n", "\n\t")) {
		line = strings.TrimLeft(strings.TrimSpace(line), "@ ")
		soft := strings.HasPrefix(line, "-")
		if line = strings.TrimLeft(line, "-@ "); line != "" && !strings.HasPrefix(line, "#") {
			s.parts = append(s.parts, part{text: line, soft: soft})
		}
	}
}

// dedent takes the indentation of the first line off all.
func dedent(lines []string) []string {
	out, indent := []string{}, ""
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			out = append(out, "")
			continue
		}
		if indent == "" {
			indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		}
		out = append(out, strings.TrimPrefix(line, indent))
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	return out
}

// A taskfile is a Taskfile.yml, as far as it is read.
type taskfile struct {
	Includes any            `yaml:"includes"`
	Vars     map[string]any `yaml:"vars"`
	Env      map[string]any `yaml:"env"`
	Tasks    map[string]any `yaml:"tasks"`
}

// taskfileTask reads `task NAME`.
func taskfileTask(l *lowerer, f File, name string, _ []string) (script, bool) {
	var t taskfile
	if yaml.Unmarshal(f.Text, &t) != nil {
		return script{}, false
	}
	s := script{opaque: t.Includes != nil}
	if name == "" {
		name = "default"
	}
	s.shellsOf(t.Vars)
	s.shellsOf(t.Env)
	return s, t.add(l, &s, name, map[string]bool{})
}

func (s *script) shellsOf(vars map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if m, ok := vars[name].(map[string]any); ok && m["sh"] != nil {
			s.opaque = true
			s.command(m["sh"])
		}
	}
}

// command adds a text, in which templates stand for values that are not known.
func (s *script) command(v any) {
	text, ok := v.(string)
	if !ok {
		s.opaque = true
		return
	}
	plain := justVar.ReplaceAllString(text, "$${computed}")
	s.opaque = s.opaque || plain != text
	s.parts = append(s.parts, part{text: plain})
}

func (t *taskfile) add(l *lowerer, s *script, name string, visited map[string]bool) bool {
	if t.Tasks[name] == nil || visited[name] {
		return t.Tasks[name] != nil
	}
	if visited[name] = true; len(visited) > maxTargets {
		l.proj.fail("too many tasks in a taskfile")
		return true
	}
	switch task := t.Tasks[name].(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(task)) {
			t.member(l, s, key, task[key], visited)
		}
	default:
		t.steps(l, s, task, visited)
	}
	return true
}

// member reads one member of a task. What changes where or how it runs makes it opaque.
func (t *taskfile) member(l *lowerer, s *script, key string, v any, visited map[string]bool) {
	switch key {
	case "cmds", "cmd":
		t.steps(l, s, v, visited)
	case "deps":
		for _, d := range list(v) {
			if name, ok := d.(string); ok {
				d = map[string]any{"task": name}
			}
			t.steps(l, s, d, visited)
		}
	case "vars", "env":
		if m, ok := v.(map[string]any); ok {
			s.shellsOf(m)
		}
	case "preconditions", "status":
		for _, p := range list(v) {
			if m, ok := p.(map[string]any); ok {
				p = m["sh"]
			}
			s.command(p)
			s.opaque = true
		}
	case "desc", "summary", "silent", "aliases", "sources", "generates", "label", "internal", "method", "prompt", "requires", "run", "interactive":
	default:
		s.opaque = true
	}
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func (t *taskfile) steps(l *lowerer, s *script, v any, visited map[string]bool) {
	for _, step := range list(v) {
		m, ok := step.(map[string]any)
		if !ok {
			s.command(step)
			continue
		}
		for _, key := range []string{"cmd", "defer"} {
			if m[key] != nil {
				if inner, ok := m[key].(map[string]any); ok {
					t.steps(l, s, inner, visited)
				} else {
					s.command(m[key])
				}
			}
		}
		if name, ok := m["task"].(string); ok && !t.add(l, s, name, visited) {
			s.opaque = true
		}
		s.opaque = s.opaque || m["cmd"] == nil && m["defer"] == nil && m["task"] == nil || m["for"] != nil
	}
}
