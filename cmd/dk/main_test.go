package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dk": main})
}

// TestScripts runs the real program over testdata/script.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	env := goEnv(t, "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT")
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(repo, "testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REPO", repo)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			store := e.WorkDir + ".store" // beside the folder in which commands run, never in it
			e.Setenv("STORE", store)
			e.Setenv("DK_STORE", store)
			e.Defer(func() {
				left, _ := filepath.Glob(store + "*")
				for _, dir := range left {
					_ = os.RemoveAll(dir)
				}
			})
			for k, v := range env {
				e.Setenv(k, v)
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if program, ok := strings.CutPrefix(cond, "has:"); ok {
				_, err := exec.LookPath(program)
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"say": say, "expand": expand, "blow": blow, "chop": chop, "crlf": crlf, "change": change,
		},
	})
}

func goEnv(t *testing.T, names ...string) map[string]string {
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env", "-json"}, names...)...).Output()
	require.NoError(t, err)
	var env map[string]string
	require.NoError(t, json.Unmarshal(out, &env))
	return env
}

// say makes a Claude Code transcript: say [-cwd DIR] [-session ID] OUT FILE. The messages of FILE are parted by lines of
// four dashes. A message that begins with a line "@user", "@tool" or "@thinking" is not the assistant's word.
func say(ts *testscript.TestScript, neg bool, args []string) {
	cwd, session := ts.Getenv("PWD"), "s1"
	if cwd == "" {
		cwd = ts.MkAbs(".")
	}
	for len(args) > 2 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-cwd":
			cwd = args[1]
		case "-session":
			session = args[1]
		}
		args = args[2:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: say [-cwd DIR] [-session ID] OUT FILE")
	}
	var out strings.Builder
	for i, text := range strings.Split(ts.ReadFile(args[1]), "\n----\n") {
		line, err := json.Marshal(transcriptLine(i, text, cwd, session))
		ts.Check(err)
		out.Write(line)
		out.WriteByte('\n')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o600))
}

func transcriptLine(i int, text, cwd, session string) map[string]any {
	role, block := "assistant", map[string]any{"type": "text", "text": strings.TrimSuffix(text, "\n")}
	head, rest, _ := strings.Cut(text, "\n")
	switch head {
	case "@user":
		role, block = "user", map[string]any{"type": "text", "text": rest}
	case "@tool":
		role, block = "user", map[string]any{"type": "tool_result", "tool_use_id": "x", "content": rest}
	case "@thinking":
		block = map[string]any{"type": "thinking", "thinking": rest}
	}
	line := map[string]any{
		"type": role, "uuid": fmt.Sprintf("u-%s-%d", session, i), "sessionId": session, "version": "2.0.69",
		"timestamp": fmt.Sprintf("2026-01-02T03:%02d:%02d.000Z", i/60, i%60),
		"message": map[string]any{
			"id": fmt.Sprintf("msg-%d", i), "role": role, "model": "m", "content": []any{block},
		},
	}
	if cwd != "" && cwd != "none" {
		line["cwd"] = cwd
	}
	return line
}

// expand replaces $WORK and $REPO in files.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.NewReplacer("$WORK", ts.Getenv("WORK"), "$REPO", ts.Getenv("REPO")).Replace(ts.ReadFile(name))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// blow writes a transcript line of N million bytes: blow N FILE appends.
func blow(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	chunk := strings.Repeat("x", 1_000_000)
	_, err = f.WriteString(`{"type":"user","message":{"role":"user","content":"`)
	ts.Check(err)
	for range n {
		_, err := f.WriteString(chunk)
		ts.Check(err)
	}
	_, err = f.WriteString("\"}}\n")
	ts.Check(err)
	ts.Check(f.Close())
}

// chop takes N bytes off the end of a file: chop N FILE.
func chop(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text[:len(text)-n]), 0o600))
}

// crlf copies a file with other line ends: crlf FROM TO.
func crlf(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// change replaces a text in a file: change FILE OLD NEW.
func change(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}

// A followed log shows what another dk writes in the meantime, and is in nobody's way.
func TestFollowShowsWhatOthersWrite(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	require.NoError(t, os.MkdirAll(repo, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(repo, "a.txt"), nil, 0o600))
	session := func(n int) string {
		texts := make([]any, n+1)
		for i := range texts {
			texts[i] = "nothing"
		}
		texts[n] = `<dk-verify>{"id":"t1","claim":"x","kind":"file","verify":"a.txt"}</dk-verify>`
		var out strings.Builder
		for i, text := range texts {
			line, err := json.Marshal(transcriptLine(i, text.(string), repo, "s1"))
			require.NoError(t, err)
			out.Write(append(line, '\n'))
		}
		name := filepath.Join(dir, fmt.Sprintf("s%d.jsonl", n))
		require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o600))
		return name
	}
	verify := func(n int) {
		var out, errs strings.Builder
		args := []string{"--store", filepath.Join(dir, "store"), "verify", "--root", repo, session(n)}
		require.Equal(t, 0, run(t.Context(), args, strings.NewReader(""), &out, &errs), errs.String())
	}
	verify(0)
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	exit := make(chan int, 1)
	go func() { // ends with ctx, below
		exit <- run(ctx, []string{"--store", filepath.Join(dir, "store"), "log", "--follow", "--kind", "receipt.issued"}, strings.NewReader(""), w, io.Discard)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "verified")
	verify(1)
	require.True(t, lines.Scan(), "the receipt that was issued while it followed")
	stop()
	require.False(t, lines.Scan())
	require.Equal(t, 0, <-exit)
}

// Every verb says in a line what it does, and refuses wrong arguments with a hint.
func TestEveryVerbHelps(t *testing.T) {
	a := &app{out: newPrinter(os.Stdout), err: newPrinter(os.Stderr)}
	for _, c := range a.rootCommand().Commands() {
		require.NotEmptyf(t, c.Short, "%s", c.Name())
	}
	var out, errs strings.Builder
	require.Equal(t, 2, run(context.Background(), []string{"verify"}, strings.NewReader(""), &out, &errs))
	require.Contains(t, errs.String(), "hint: ")
	require.Empty(t, out.String())
	for _, args := range [][]string{
		{"nosuch"},
		{"claims", "extra"},
		{"rules"},
		{"rules", "frob"},
		{"claims", "--verdict", "bogus"},
		{"gate"},
		{"why"},
		{"show"},
		{"gate", "--rules", "nosuch.yaml", "x"},
		{"gate", "--cwd", "/nosuch", "x"},
		{"log", "prove"},
		{"log", "check-proof", "x"},
	} {
		out.Reset()
		errs.Reset()
		code := run(context.Background(), append([]string{"--store", t.TempDir()}, args...), strings.NewReader(""), &out, &errs)
		require.Equalf(t, 2, code, "%v: %s", args, out.String())
		require.Containsf(t, errs.String(), "hint: ", "%v", args)
		require.Emptyf(t, out.String(), "%v", args)
	}
}

// What was lost on the way to whoever reads is an error, not a success.
func TestLostOutputIsAnError(t *testing.T) {
	var errs strings.Builder
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	require.Equal(t, 2, run(t.Context(), []string{"--store", t.TempDir(), "gate", "go test ./..."}, strings.NewReader(""), w, &errs))
	require.Contains(t, errs.String(), "write: ")

	store, session := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(session, nil, 0o600))
	require.Equal(t, 0, run(t.Context(), []string{"--store", store, "ingest", session}, strings.NewReader(""), io.Discard, io.Discard))
	for _, args := range [][]string{{"log"}, {"log", "--json"}, {"log", "--follow"}, {"log", "--follow", "--json"}} {
		errs.Reset()
		require.Equalf(t, 2, run(t.Context(), append([]string{"--store", store}, args...), strings.NewReader(""), w, &errs), "%v", args)
		require.Containsf(t, errs.String(), "write: ", "%v", args)
	}
}
