//go:build linux || darwin

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules/shell"
)

// script writes a plan as the shell command it stands for.
func script(p *shell.Plan) string {
	kids := func(sep string) string {
		var parts []string
		for i := range p.Kids {
			s := script(&p.Kids[i])
			if o := p.Kids[i].Op; o == shell.OpSeq || o == shell.OpAnd || o == shell.OpOr {
				s = "{ " + s + "; }"
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, sep)
	}
	switch p.Op {
	case shell.OpRun:
		return scriptOf(p.Exec)
	case shell.OpPipe:
		return kids(" | ")
	case shell.OpAnd:
		return kids(" && ")
	case shell.OpOr:
		return kids(" || ")
	case shell.OpSeq:
		return kids("; ")
	case shell.OpNot:
		return "! " + kids("")
	case shell.OpSub:
		return "( " + script(&p.Kids[0]) + " )"
	}
	panic(p.Op)
}

func scriptOf(e *shell.Exec) string {
	var parts []string
	for _, a := range e.Env {
		parts = append(parts, a.Name+"="+scriptWord(a.Value))
	}
	for _, w := range e.Argv {
		parts = append(parts, scriptWord(w))
	}
	for _, r := range e.Redirs {
		switch {
		case r.Read:
			parts = append(parts, "<'"+r.File+"'")
		case r.File != "":
			parts = append(parts, string(rune('0'+r.FD))+">"+r.File)
		default:
			parts = append(parts, string(rune('0'+r.FD))+">&"+string(rune('0'+r.From)))
		}
	}
	return strings.Join(parts, " ")
}

func scriptWord(w shell.Word) string {
	var b strings.Builder
	for _, p := range w {
		switch p.Kind {
		case "lit":
			b.WriteString("'" + strings.ReplaceAll(p.Text, "'", `'\''`) + "'")
		case "glob":
			b.WriteString(p.Text)
		case "status":
			b.WriteString("$?")
		case "pipestatus":
			b.WriteString(`"${PIPESTATUS[` + p.Text + `]}"`)
		}
	}
	return b.String()
}

// A plan means what bash takes the same text for: the same status and the same output.
func TestPlansMeanWhatBashSays(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	st := func(n string) *shell.Plan { return x("sh", "-c", "exit "+n) }
	echo := func(w ...shell.Word) *shell.Plan {
		p := x("echo")
		p.Exec.Argv = append(p.Exec.Argv, w...)
		return p
	}
	status, pipe0, pipe1 := part("status", ""), part("pipestatus", "0"), part("pipestatus", "1")
	glob := func(s string) shell.Word { return part("glob", s) }
	null, errToOut, outToErr := shell.FDAction{FD: 1, File: "/dev/null"}, shell.FDAction{FD: 2, From: 1}, shell.FDAction{FD: 1, From: 2}
	both := func() *shell.Plan { return x("sh", "-c", "echo out; echo err >&2") }
	in := func(f string) shell.FDAction { return shell.FDAction{FD: 0, File: f, Read: true} }
	assign := func(p *shell.Plan, name, value string) *shell.Plan {
		p.Exec.Env = append(p.Exec.Env, shell.Assign{Name: name, Value: word(value)})
		return p
	}
	pwd := func() *shell.Plan { return x("sh", "-c", "pwd") }
	plans := []*shell.Plan{
		st("0"), st("7"), not(st("0")), not(st("3")), not(sub(not(st("3")))),
		and(st("0"), st("2"), x("echo", "no")), and(st("0"), x("echo", "yes")),
		or(st("1"), st("2"), x("echo", "third")), or(st("0"), x("echo", "no")),
		or(and(st("1"), x("echo", "a")), x("echo", "b")), and(or(st("1"), st("0")), x("echo", "b")),
		seq(st("5"), echo(status)), seq(st("5"), x("true"), echo(status)),
		seq(not(st("5")), echo(status)), seq(or(st("5"), st("6")), echo(status)),
		pipe(st("3"), st("4"), st("0")), pipe(st("0"), st("4")), not(pipe(st("0"), st("4"))),
		seq(pipe(st("3"), st("4")), echo(pipe0, pipe1, status)),
		seq(not(pipe(st("3"), st("4"))), echo(pipe0, pipe1, status)),
		seq(sub(pipe(st("3"), st("4"))), echo(pipe0, status)),
		seq(st("9"), echo(pipe0)),
		pipe(x("printf", `b\na\n`), x("sort"), x("tr", "ab", "xy")),
		pipe(x("seq", "100000"), x("tail", "-n", "1")),
		pipe(x("seq", "100000"), x("head", "-n", "1")),
		sub(seq(cd("sub"), pwd())), seq(sub(cd("sub")), pwd()), seq(cd("sub"), pwd()),
		seq(cd("sub"), cd(".."), pwd()), seq(cd("link"), pwd(), cd(".."), pwd()), seq(cd("./sub/../sub/deep"), pwd()),
		and(cd("link"), x("ls", "..")),
		sub(and(cd("sub"), sub(and(cd("deep"), pwd())), pwd())),
		and(builtin("true", ":"), x("echo", "yes")),
		redir(both(), null), redir(both(), errToOut, null), redir(both(), null, errToOut), redir(both(), outToErr, null),
		pipe(redir(both(), errToOut), x("sort")), pipe(both(), x("cat")), pipe(redir(both(), errToOut, null), x("cat")),
		redir(x("cat"), in("a.txt")), pipe(x("echo", "unseen"), redir(x("cat"), in("a.txt"))), seq(redir(x("cat"), in("/dev/null")), echo(status)),
		assign(x("sh", "-c", "echo $FOO"), "FOO", "a b  c"), assign(assign(x("sh", "-c", "echo $FOO"), "FOO", "1"), "FOO", "2"),
		assign(x("sh", "-c", "echo $FOO"), "FOO", "*"),
		x("sh", "-c", "kill -9 $$"), seq(x("sh", "-c", "kill -13 $$"), echo(status)),
		x("printf", "%s|", "a b", "", "'", "$x", "\\"),
		x("./script.sh", "one", "two"), seq(cd("sub"), x("../script.sh")),
		echo(glob("*")), echo(glob("*.txt")), echo(glob("sub/*")), echo(glob("*/*.txt")), echo(glob(".*.txt")), echo(glob("?.txt")),
		echo(glob("[ab].txt")), echo(glob("[!a].txt")), echo(glob("[a-b]*")), echo(glob("nothing*here")), echo(glob(`a\*.txt`)),
		echo(glob("*/")), echo(glob("link/*")), echo(glob("sub/../*.txt")), echo(glob("./*.txt")), echo(glob("**")), echo(glob("s*/d*/*")),
		echo(glob("[z")), echo(glob("*"), word("*"), glob("*.none")),
		echo(append(word("a"), shell.Part{Kind: "glob", Text: "*.txt"})), echo(append(word("*"), shell.Part{Kind: "glob", Text: "?"})),
		seq(st("3"), echo(append(word("s="), status[0]))),
	}
	p := newPlace(t)
	for name, text := range map[string]string{
		"a.txt": "alpha\n", "b.txt": "beta\n", "a*.txt": "star\n", ".hid.txt": "", "sub/c.txt": "", "sub/deep/d.txt": "", "*x": "",
	} {
		p.write(name, text, 0o644)
	}
	p.write("script.sh", "#!/bin/sh\necho \"$0 $# $1 $(pwd)\"\n", 0o755)
	require.NoError(t, os.Symlink("sub/deep", filepath.Join(p.root, "link")))
	for _, plan := range plans {
		text := script(plan)
		cmd := exec.Command(bash, "--noprofile", "--norc", "-c", text)
		cmd.Dir = p.root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()

		run := p.ok(plan)
		status := cmd.ProcessState.ExitCode()
		if status < 0 {
			status = run.Exit // bash became the program, which a signal ended
			require.NotEmpty(t, run.Stages[0].Signal, text)
		}
		require.Equal(t, status, run.Exit, text)
		require.Equal(t, stdout.String(), run.Stdout.Text, text)
		require.Equal(t, stderr.String(), run.Stderr.Text, text)
	}
}

// What cannot be found or executed has a shell's status, so that || goes on, and is a problem where it matters.
func TestMissingPrograms(t *testing.T) {
	p := newPlace(t)
	p.write("plain.txt", "", 0o644)
	p.write("dir/file", "", 0o644)
	for _, tc := range []struct {
		name    string
		plan    *shell.Plan
		status  int
		problem string
	}{
		{"decides", x("no-such-program"), 127, ProgramNotFound},
		{"decides with a path", x("./no-such-program"), 127, ProgramNotFound},
		{"decides, behind and", and(x("true"), x("no-such-program")), 127, ProgramNotFound},
		{"decides, last in a pipe", pipe(x("true"), x("no-such-program")), 127, ProgramNotFound},
		{"decides, negated", not(x("no-such-program")), -1, ProgramNotFound},
		{"decides, in a subshell", sub(x("no-such-program")), 127, ProgramNotFound},
		{"has an alternative", or(x("no-such-program"), x("true")), 0, ""},
		{"is not the last", seq(x("no-such-program"), x("true")), 0, ""},
		{"is not the last in a pipe", pipe(x("no-such-program"), x("cat")), 0, ""},
		{"checks, and has an alternative", or(c("no-such-program"), x("true")), -1, ProgramNotFound},
		{"checks, before a filter", pipe(c("no-such-program"), x("cat")), -1, ProgramNotFound},
		{"is not reached", and(x("false"), c("no-such-program")), 1, ""},
		{"may not be executed", x("./plain.txt"), 126, ProgramNotExecutable},
		{"is a folder", x("./dir"), 126, ProgramNotExecutable},
		{"may not be executed, in the open", or(x("./plain.txt"), x("true")), 0, ""},
		{"folder of cd", and(cd("gone"), x("true")), 1, CWDMissing},
		{"folder of cd, a file", and(cd("plain.txt"), x("true")), 1, CWDNotDir},
		{"folder of cd, in the open", or(cd("gone"), x("true")), 0, ""},
		{"input", redir(x("cat"), shell.FDAction{File: "gone", Read: true}), 1, StartError},
	} {
		run := p.run(tc.plan)
		require.Equal(t, tc.problem, run.Problem, tc.name)
		require.Equal(t, tc.status, run.Exit, "%s: %s", tc.name, run.Detail)
	}
	run := p.run(x("no-such-program"))
	require.Contains(t, run.Detail, "no-such-program")
	require.Contains(t, run.Stderr.Text, "no-such-program: command not found")
	require.True(t, run.Stages[0].NotFound)
}

func TestWhatCannotBeStarted(t *testing.T) {
	p := newPlace(t)
	p.write("lost", "#!/no/such/interpreter -x\n", 0o755)
	p.write("text", "echo hi\n", 0o755)
	outside := newPlace(t)
	outside.write("tool", "#!/bin/sh\n", 0o755)
	outside.write("input", "", 0o644)
	require.NoError(t, os.Symlink(outside.root, filepath.Join(p.root, "out")))
	glob := func(s string) *shell.Plan { return arg(x("echo"), part("glob", s)) }
	p.write("-rf.x", "", 0o644)
	for name, tc := range map[string]struct {
		plan   *shell.Plan
		code   string
		detail string
	}{
		"interpreter":       {x("./lost"), StartError, "interpreter /no/such/interpreter"},
		"no #! line":        {x("./text"), StartError, "no #! line"},
		"absolute, outside": {x(outside.root + "/tool"), StartError, "outside"},
		"relative, outside": {x("out/tool"), StartError, "outside"},
		"dots, outside":     {x("../../../../../../../../../bin/ls"), StartError, "outside"},
		"flag from pattern": {glob("*.x"), StartError, "looks like a flag"},
		"pattern upwards":   {glob("../*"), StartError, "outside"},
		"pattern by link":   {glob("out/*"), StartError, "outside"},
		"pattern from root": {glob("/etc/*"), StartError, "outside"},
		"pattern class":     {glob("[[:alpha:]]*"), StartError, "not supported"},
		"cd upwards":        {and(cd(".."), x("true")), CWDNotGranted, "cd .."},
		"cd by link":        {or(cd("out"), x("true")), CWDNotGranted, "cd out"},
		"cd from root":      {cd("/etc"), CWDNotGranted, "cd /etc"},
		"cd without folder": {builtin("cd", "cd"), StartError, "cd needs"},
		"cd back":           {cd("-"), StartError, "cd needs"},
		"input, outside":    {redir(x("cat"), shell.FDAction{File: "out/input", Read: true}), StartError, "outside"},
		"name by pattern":   {&shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{Argv: []shell.Word{part("glob", "l*")}}}, StartError, "plain text"},
	} {
		run := p.run(tc.plan)
		require.Equal(t, tc.code, run.Problem, "%s: %s", name, run.Detail)
		require.Contains(t, run.Detail, tc.detail, name)
		require.NotZero(t, run.Exit, name)
	}
}

func TestProblemStopsThePlan(t *testing.T) {
	p := newPlace(t)
	p.write("lost", "#!/no/such/interpreter\n", 0o755)
	run := p.run(seq(x("echo", "before"), pipe(h("sleep"), x("./lost")), x("echo", "after")))
	require.Equal(t, StartError, run.Problem)
	require.Equal(t, "before\n", run.Stdout.Text)
}

func TestManyArgumentsAreRefused(t *testing.T) {
	p := newPlace(t)
	run := p.run(x("echo", strings.Repeat("x", maxArgBytes)))
	require.Equal(t, StartError, run.Problem)
	require.Contains(t, run.Detail, "bytes of arguments")
}

func TestLookup(t *testing.T) {
	p := newPlace(t)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	run := p.ok(builtin("lookup", "command", "-v", "sh"))
	require.Equal(t, filepath.Base(sh), filepath.Base(strings.TrimSpace(run.Stdout.Text)))
	require.Zero(t, run.Exit)
	require.Empty(t, run.Stages[0].Program)

	run = p.ok(builtin("lookup", "command", "-v", "no-such-program"))
	require.Equal(t, 1, run.Exit)
	require.Empty(t, run.Stdout.Text)

	run = p.ok(builtin("lookup", "type", "sh"))
	require.Contains(t, run.Stdout.Text, "sh is /")
	run = p.ok(pipe(builtin("lookup", "command", "-v", "sh"), x("wc", "-l")))
	require.Equal(t, "1", strings.TrimSpace(run.Stdout.Text))
	run = p.ok(builtin("lookup", "command", "-v", "./helper"))
	require.Equal(t, "./helper\n", run.Stdout.Text)
}

func TestProgramsOfTheTree(t *testing.T) {
	p := newPlace(t)
	p.write("bin/tool", "#!/bin/sh\necho mine\n", 0o755)
	run := p.ok(x("bin/tool"))
	require.True(t, run.Stages[0].InTree)
	require.Equal(t, filepath.Join(p.root, "bin", "tool"), run.Stages[0].Program)

	exe, err := filepath.EvalSymlinks(must(os.Executable()))
	require.NoError(t, err)
	run = p.ok(h("exit", "0"))
	require.True(t, run.Stages[0].InTree, "a link in the tree is the tree's")
	require.Equal(t, exe, run.Stages[0].Program)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestHashesAreRemembered(t *testing.T) {
	p := newPlace(t)
	p.write("tool", "#!/bin/sh\n", 0o755)
	path := filepath.Join(p.root, "tool")
	var hashes Hashes
	one := must(hashes.of(path))
	require.Equal(t, one, must(hashes.of(path)))
	require.Len(t, hashes.known, 1)
	p.write("tool", "#!/bin/sh\n# changed\n", 0o755)
	require.NotEqual(t, one, must(hashes.of(path)))
}
