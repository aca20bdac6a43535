package shell

import (
	"slices"
	"strings"
)

// builtinVars are variables that make sets itself.
var builtinVars = map[string]string{
	"MAKE": "make", "RM": "rm -f", "CC": "cc", "CXX": "c++", "AR": "ar", "AS": "as", "LD": "ld", "LEX": "lex", "YACC": "yacc", "CURDIR": ".",
	"MAKEFLAGS": "", "MFLAGS": "", "CFLAGS": "", "CXXFLAGS": "", "CPPFLAGS": "", "LDFLAGS": "", "LDLIBS": "", "comma": ",",
}

// expand puts the values of variables into a text. What make would have to compute stands in it as a shell's parameter,
// and sure is false then. auto holds the automatic variables of a recipe.
func (m *making) expand(text string, auto map[string]string) (out string, sure bool) {
	e := expansion{m: m, auto: auto, sure: true}
	e.text(text, 0)
	return e.out.String(), e.sure
}

type expansion struct {
	m    *making
	auto map[string]string
	out  strings.Builder
	sure bool
}

func (e *expansion) text(s string, depth int) {
	e.m.steps++
	for i := 0; i < len(s); i++ {
		if e.out.Len() > maxExpanded || depth > maxExpansion || e.m.steps > maxSteps {
			e.sure = false
			e.m.l.proj.fail("a makefile with too long variables")
			return
		}
		if s[i] != '$' || i+1 == len(s) {
			e.out.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '$':
			e.out.WriteByte('$')
		case '(', '{':
			inner, n := bracketed(s[i:])
			i += n - 1
			e.reference(inner, depth)
		default:
			e.variable(string(c), depth)
		}
	}
}

// bracketed is what stands in the bracket that s begins with, and how long it is with it.
func bracketed(s string) (inner string, n int) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return s[1:i], i + 1
			}
		}
	}
	return s[1:], len(s)
}

// reference is $(NAME), or a function that is not computed.
func (e *expansion) reference(inner string, depth int) {
	name, rest, function := strings.Cut(strings.TrimSpace(strings.ReplaceAll(inner, "\t", " ")), " ")
	switch {
	case !function && !strings.ContainsAny(name, "$:()"):
		e.variable(name, depth)
		return
	case name == "shell":
		in := expansion{m: e.m, auto: e.auto, sure: true}
		in.text(rest, depth+1)
		e.shell(in.out.String())
	default: // what is in it may be expanded, too
		in := expansion{m: e.m, auto: e.auto, sure: true}
		in.text(rest, depth+1)
		if name == "eval" || name == "call" || name == "foreach" {
			e.m.script.opaque = true
		}
	}
	e.unknown("computed")
}

func (e *expansion) shell(text string) {
	if slices.Contains(e.m.shells, text) {
		return
	}
	if len(e.m.shells) >= maxTargets {
		e.m.l.proj.fail("too many commands in a makefile")
		return
	}
	e.m.shells = append(e.m.shells, text)
}

func (e *expansion) variable(name string, depth int) {
	e.m.visited["$"+name] = true
	if v, ok := e.auto[name]; ok {
		e.out.WriteString(v)
		return
	}
	values := e.m.vars[name]
	if len(values) == 0 {
		if v, ok := builtinVars[name]; ok {
			e.out.WriteString(v)
			return
		}
		e.unknown(name)
		return
	}
	if len(values) > 1 {
		e.sure = false
	}
	if name == "MAKE" || strings.Contains(values[len(values)-1], "$("+name+")") || strings.Contains(values[len(values)-1], "${"+name+"}") {
		e.unknown(name)
		return
	}
	e.text(values[len(values)-1], depth+1)
}

// unknown stands for a value that is not known. A variable that is named as a tool is taken for that tool.
func (e *expansion) unknown(name string) {
	e.sure = false
	lower := strings.ToLower(name)
	if e.m.l.tab.tools[lower] != nil && len(lower) > 1 {
		e.out.WriteString(lower)
		return
	}
	if !envName.MatchString(name) {
		name = "computed"
	}
	e.out.WriteString("${" + name + "}")
}
