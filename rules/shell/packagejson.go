package shell

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// packageScript reads `npm run NAME`: with what runs before and after it.
func packageScript(l *lowerer, f File, name string, args []string) (script, bool) {
	all, ok := packageTable(l, f)
	if !ok || all[name] == "" {
		return script{}, false
	}
	return lifecycle(all, name, args), true
}

// lifecycle is a script between its pre and post scripts. Not every program runs these; it is safe to take that they are.
func lifecycle(all map[string]string, name string, args []string) script {
	var s script
	if pre := all["pre"+name]; pre != "" {
		s.parts = append(s.parts, part{text: pre})
	}
	text := all[name]
	for _, a := range args {
		text += " " + quoted(a)
	}
	s.parts = append(s.parts, part{text: text})
	if post := all["post"+name]; post != "" {
		s.parts = append(s.parts, part{text: post})
	}
	return s
}

func quoted(s string) string {
	if s != "" && isASCII(s) && !strings.ContainsAny(s, " \t\n'\"`$&|;<>()*?[]{}!\\#~=%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// packageScripts reads the scripts that npm-run-all is given: a name, or a pattern of names, and arguments after it.
func packageScripts(l *lowerer, f File, pattern string, _ []string) (script, bool) {
	all, ok := packageTable(l, f)
	pattern, rest, _ := strings.Cut(strings.TrimSpace(pattern), " ")
	if !ok || pattern == "" {
		return script{}, false
	}
	var names []string
	for name := range all {
		if name == pattern || matches(pattern, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	s := script{opaque: rest != "" || len(names) == 0}
	for _, name := range names {
		s.parts = append(s.parts, lifecycle(all, name, nil).parts...)
	}
	return s, true
}

// matches takes more than it has to: in the pattern a:*, the star stands for any rest.
func matches(pattern, name string) bool {
	head, _, found := strings.Cut(pattern, "*")
	return found && strings.HasPrefix(name, head)
}

// packageTable reads the scripts of package.json. A file that is no such thing is refused: nothing could be run from it.
func packageTable(l *lowerer, f File) (map[string]string, bool) {
	raw, ok := member(f, "scripts")
	if !ok {
		l.proj.fail("package.json is not understood")
		return nil, false
	}
	out := map[string]string{}
	for name, v := range raw {
		var text string
		if json.Unmarshal(v, &text) == nil {
			out[name] = text
		}
	}
	return out, true
}

// member decodes the object that a JSON document has under a name, exactly as it is spelled. ok is false when the document
// is no JSON object.
func member(f File, name string) (map[string]json.RawMessage, bool) {
	var doc, out map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(f.Text, []byte("\ufeff")), &doc) != nil {
		return nil, false
	}
	if doc[name] != nil && json.Unmarshal(doc[name], &out) != nil {
		return nil, false
	}
	return out, true
}

// composerScript reads a script of composer.json: a line or several, of which some name another script.
func composerScript(l *lowerer, f File, name string, args []string) (script, bool) {
	raw, ok := member(f, "scripts")
	if !ok {
		l.proj.fail("composer.json is not understood")
		return script{}, false
	}
	if raw[name] == nil {
		return script{}, false
	}
	var lines []string
	var one string
	if json.Unmarshal(raw[name], &one) == nil {
		lines = []string{one}
	} else if json.Unmarshal(raw[name], &lines) != nil {
		return script{opaque: true}, true
	}
	var s script
	for i, line := range lines {
		text, ok := composerLine(line)
		s.opaque = s.opaque || !ok
		if text == "" {
			continue
		}
		if i == len(lines)-1 {
			for _, a := range args {
				text += " " + quoted(a)
			}
		}
		s.parts = append(s.parts, part{text: text})
	}
	return s, true
}

// composerLine is the text that a shell is given for a line of a script. ok is false for what is no such text: a method of a
// class, which Composer calls itself.
func composerLine(line string) (text string, ok bool) {
	switch {
	case !strings.HasPrefix(line, "@"):
		if strings.Contains(line, "::") && !strings.Contains(line, " ") || strings.HasSuffix(line, "Command") && strings.Contains(line, `\`) {
			return "", false
		}
		return line, true
	case strings.HasPrefix(line, "@php "), strings.HasPrefix(line, "@composer "):
		return line[1:], true
	case strings.HasPrefix(line, "@putenv "):
		return "", false
	case strings.HasPrefix(line, "@no_additional_args"), strings.HasPrefix(line, "@additional_args"):
		return "", false
	}
	return "composer run " + line[1:], true
}

// denoTask reads `deno task NAME`, whose tasks may also be scripts of package.json.
func denoTask(l *lowerer, f File, name string, args []string) (script, bool) {
	tasks, ok := member(f, "tasks")
	if !ok || tasks == nil {
		if all, known := member(f, "scripts"); known && all != nil {
			return packageScript(l, f, name, args)
		}
		return script{}, false // it may have comments, which JSON has not
	}
	if tasks[name] == nil {
		return script{}, false
	}
	var task struct {
		Command      string   `json:"command"`
		Dependencies []string `json:"dependencies"`
	}
	if json.Unmarshal(tasks[name], &task.Command) != nil && json.Unmarshal(tasks[name], &task) != nil {
		return script{opaque: true}, true
	}
	var s script
	for _, d := range task.Dependencies {
		s.parts = append(s.parts, part{text: "deno task " + quoted(d)})
	}
	if task.Command != "" {
		text := task.Command
		for _, a := range args {
			text += " " + quoted(a)
		}
		s.parts = append(s.parts, part{text: text})
	}
	return s, true
}
