package shell

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A makefile is read best effort: explicit rules, pattern rules as far as harm goes, and variables with literal values.
// What make would compute (functions, conditionals, included files) makes what depends on it opaque. Texts that make runs
// while it reads are part of every target.

// Bounds on a makefile.
const (
	maxMakeLines = 8000
	maxExpanded  = 8 << 10
	maxExpansion = 12 // variables in variables
	maxSteps     = 40000
	maxTargets   = 128
)

// A makefile is one that was read.
type makefile struct {
	vars   map[string][]string // values in the order they are given; the last counts, unless it depends
	rules  []makeRule
	first  string // the default target
	dark   bool   // there is more to it than was read: an included file, a computed rule
	once   bool   // .ONESHELL
	ignore bool   // .IGNORE

	immediate []string // values that are expanded while it is read
}

type makeRule struct {
	targets, needs []string // as written
	lines          []string
}

var (
	makeAssign = regexp.MustCompile(`^((?:override|export|private)\s+)*([A-Za-z_.][A-Za-z0-9_.-]*)\s*(:{0,3}|\?|\+|!)=\s*(.*)$`)
	makeCond   = regexp.MustCompile(`^(ifeq|ifneq|ifdef|ifndef|else|endif)\b`)
	makeOther  = regexp.MustCompile(`^(-?include|sinclude|load|-load)\b`)
)

func readMakefile(text string) *makefile {
	m := &makefile{vars: map[string][]string{}}
	lines := logicalLines(text)
	if len(lines) > maxMakeLines {
		m.dark, lines = true, lines[:maxMakeLines]
	}
	rule, define := false, false
	for _, line := range lines {
		recipe := strings.HasPrefix(line, "\t")
		bare := strings.TrimSpace(line)
		switch {
		case define:
			define = !strings.HasPrefix(bare, "endef")
		case recipe && rule:
			last := &m.rules[len(m.rules)-1]
			last.lines = append(last.lines, line[1:])
		case bare == "" || bare[0] == '#':
		default:
			define = m.line(uncommented(bare), &rule)
		}
	}
	return m
}

// line reads one line that is no recipe. It reports whether a define starts.
func (m *makefile) line(line string, rule *bool) (define bool) {
	if name, ok := strings.CutPrefix(line, "define "); ok || line == "define" {
		m.vars[strings.Trim(name, " :+?=")] = []string{"", "$(define)"} // a value of several lines is not read
		return true
	}
	switch {
	case makeCond.MatchString(line), makeOther.MatchString(line): // both branches of a condition are read
		m.dark = true
		m.immediate = append(m.immediate, line)
	case makeAssign.MatchString(line):
		*rule = false
		m.assign(makeAssign.FindStringSubmatch(line))
	case strings.HasPrefix(line, "export"), strings.HasPrefix(line, "unexport"), strings.HasPrefix(line, "undefine"), strings.HasPrefix(line, "vpath"):
	default:
		*rule = m.rule(line)
	}
	return false
}

func (m *makefile) assign(parts []string) {
	name, op, value := parts[2], parts[3], parts[4]
	switch op {
	case "?":
		if len(m.vars[name]) > 0 {
			return
		}
	case "+":
		if old := m.vars[name]; len(old) > 0 {
			m.vars[name] = []string{old[len(old)-1] + " " + value}
			return
		}
	case "!":
		value = "$(shell " + value + ")"
	}
	if op != "" && op != "?" && op != "+" {
		m.immediate = append(m.immediate, value)
	}
	switch name {
	case ".DEFAULT_GOAL":
		m.first = value
	case ".RECIPEPREFIX", "SHELL", ".SHELLFLAGS":
		if !plainShell.MatchString(value) {
			m.dark = true
		}
	}
	m.vars[name] = append(m.vars[name], value)
}

var plainShell = regexp.MustCompile(`^((/usr)?/bin/(env )?)?(ba|da|z)?sh$|^(-[euxo]+ |-o )*(-o pipefail |pipefail )?-[eux]*c$|^\$\(shell (which|command -v) (ba)?sh\)$`)

// rule reads a line with targets. It reports whether recipe lines may follow.
func (m *makefile) rule(line string) bool {
	head, recipe, hasRecipe := cutTop(line, ';')
	targets, needs, ok := cutTop(head, ':')
	if !ok {
		m.dark = true
		m.immediate = append(m.immediate, line) // $(eval …), $(call …)
		return false
	}
	targets = strings.TrimSuffix(strings.TrimSpace(targets), "&")
	needs = strings.TrimPrefix(needs, ":")
	if a := makeAssign.FindStringSubmatch(strings.TrimSpace(needs)); a != nil {
		m.assign(a) // for these targets only, which is not told apart
		return false
	}
	if strings.HasPrefix(needs, "=") {
		m.dark = true
		return false
	}
	if _, after, static := cutTop(needs, ':'); static { // targets: pattern: needs
		needs = after
	}
	r := makeRule{targets: fieldsTop(targets), needs: fieldsTop(strings.ReplaceAll(needs, "|", " "))}
	if hasRecipe {
		r.lines = append(r.lines, recipe)
	}
	m.rules = append(m.rules, r)
	for _, t := range r.targets {
		m.special(t, r)
	}
	return true
}

func (m *makefile) special(target string, r makeRule) {
	switch {
	case target == ".ONESHELL":
		m.once = true
	case target == ".IGNORE" && len(r.needs) == 0:
		m.ignore = true
	case m.first == "" && !strings.HasPrefix(target, ".") && !strings.Contains(target, "%"):
		m.first = target
	}
}

// logicalLines joins continued lines. In a recipe the backslash stays: the shell reads it.
func logicalLines(text string) (out []string) {
	var cur []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		cur = append(cur, line)
		if n := len(line) - len(strings.TrimRight(line, `\`)); n%2 == 0 {
			out = append(out, joined(cur))
			cur = cur[:0]
		}
	}
	if len(cur) > 0 {
		out = append(out, joined(cur))
	}
	return out
}

func joined(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	recipe := strings.HasPrefix(lines[0], "\t")
	for i := range lines {
		switch {
		case recipe && i > 0:
			lines[i] = strings.TrimPrefix(lines[i], "\t")
		case !recipe:
			lines[i] = strings.TrimSuffix(strings.TrimSpace(lines[i]), `\`)
		}
	}
	if recipe {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines, " ")
}

// uncommented cuts a comment off a line that is no recipe.
func uncommented(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] != '\\') {
			return strings.TrimSpace(line[:i])
		}
	}
	return line
}

// cutTop cuts at the first sep that stands in no $(…).
func cutTop(s string, sep byte) (before, after string, found bool) {
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth = max(0, depth-1)
		case c == sep && depth == 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// fieldsTop splits at blanks that stand in no $(…).
func fieldsTop(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(c rune) bool {
		switch c {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(0, depth-1)
		}
		return depth == 0 && (c == ' ' || c == '\t')
	})
}

// A making gathers what make does for one target.
type making struct {
	*makefile
	l       *lowerer
	script  script
	visited map[string]bool
	names   [][]string // targets of each rule, expanded
	shells  []string   // texts of $(shell …) that are run on the way
	steps   int        // texts that were expanded
}

// makeTarget reads `make NAME`: what the target needs first, then its recipe.
func makeTarget(l *lowerer, f File, name string, _ []string) (script, bool) {
	m := &making{makefile: readMakefile(string(f.Text)), l: l, visited: map[string]bool{}}
	m.script.opaque = m.dark
	for _, v := range m.immediate {
		m.expand(v, nil)
	}
	for _, r := range m.rules {
		var names []string
		for _, t := range r.targets {
			text, sure := m.expand(t, nil)
			m.script.opaque = m.script.opaque || !sure
			names = append(names, strings.Fields(text)...)
		}
		m.names = append(m.names, names)
	}
	if name == "" {
		name, _ = m.expand(m.first, nil)
	}
	for _, file := range makefiles { // make brings its makefile up to date first
		m.target(file, false)
	}
	found := name != "" && m.target(strings.TrimSpace(name), true)
	if !found {
		found = m.target(".DEFAULT", false)
		m.script.opaque = true
	}
	m.hidden()
	return m.script, found || len(m.script.parts) > 0
}

// hidden adds the texts that make runs on its own. They check nothing.
func (m *making) hidden() {
	for i := 0; i < len(m.shells) && i < maxTargets; i++ {
		m.script.opaque = true
		m.script.parts = append(m.script.parts, part{text: m.shells[i]})
	}
	for _, name := range slices.Sorted(maps.Keys(m.vars)) {
		values := m.vars[name]
		if len(values) < 2 {
			continue
		}
		for _, v := range values { // which of them counts is not known
			if len(m.l.hint(v)) > 0 && m.used(name) {
				m.script.parts = append(m.script.parts, part{text: v})
			}
		}
	}
}

func (m *making) used(name string) bool { return m.visited["$"+name] }

// target adds what is done for a target, once. It reports whether there is a rule for it.
func (m *making) target(name string, must bool) bool {
	if m.visited[name] {
		return true
	}
	m.visited[name] = true
	if len(m.visited) > maxTargets {
		m.l.proj.fail("too many targets in a makefile")
		return true
	}
	found := false
	for i, r := range m.rules {
		if slices.Contains(m.names[i], name) {
			found = true
			m.follow(r, name, must)
		}
	}
	if !found && m.byPattern(name) {
		m.script.opaque = true
		return true
	}
	return found
}

// byPattern adds the recipes that may make a file. Which of them make chooses depends on which files there are.
func (m *making) byPattern(name string) (found bool) {
	for _, r := range m.rules {
		for _, t := range r.targets {
			if fits(t, name) {
				found = true
				m.follow(r, name, true)
				break
			}
		}
	}
	return found
}

// fits reports whether a pattern such as %.o, or a suffix rule such as .c.o, may make a file.
func fits(target, name string) bool {
	if before, after, ok := strings.Cut(target, "%"); ok {
		return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	}
	return suffixRule.MatchString(target) && strings.HasSuffix(name, path.Ext(target))
}

var suffixRule = regexp.MustCompile(`^\.[a-z0-9]+(\.[a-z0-9]+)?$`)

func (m *making) follow(r makeRule, name string, must bool) {
	auto := map[string]string{"@": name, "^": "", "<": ""}
	for _, n := range r.needs {
		text, sure := m.expand(n, auto)
		m.script.opaque = m.script.opaque || (!sure && must)
		for _, need := range strings.Fields(text) {
			if auto["<"] == "" {
				auto["<"] = need
			}
			if len(auto["^"]) < maxExpanded {
				auto["^"] = strings.TrimSpace(auto["^"] + " " + need)
			}
			if !m.target(need, must) && must {
				m.script.opaque = true // a file that is there, or that a built-in rule makes
			}
		}
	}
	auto["+"] = auto["^"]
	m.recipe(r.lines, auto)
}

func (m *making) recipe(lines []string, auto map[string]string) {
	var all []string
	for _, line := range lines {
		text, sure := m.expand(line, auto)
		m.script.opaque = m.script.opaque || !sure
		text = strings.TrimLeft(text, " \t@+")
		soft := m.ignore
		for strings.HasPrefix(text, "-") {
			soft, text = true, strings.TrimLeft(text, " \t@+-")
		}
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if m.once {
			all = append(all, text)
			continue
		}
		m.script.parts = append(m.script.parts, part{text: text, soft: soft})
	}
	if len(all) > 0 {
		m.script.parts = append(m.script.parts, part{text: strings.Join(all, "\n"), soft: m.ignore})
	}
}
