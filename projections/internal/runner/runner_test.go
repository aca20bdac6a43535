//go:build linux || darwin

package runner

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// helperVar turns this test binary into a small program for the runner to run, see helper.
const helperVar = "DK_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperVar); mode != "" {
		os.Exit(helper(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func helper(mode string, args []string) int {
	switch mode {
	case "args":
		for _, a := range args {
			fmt.Printf("%q\n", a)
		}
	case "env":
		for _, line := range os.Environ() {
			fmt.Println(line)
		}
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	case "stdin":
		n, err := io.Copy(io.Discard, os.Stdin)
		fmt.Println("read", n, err)
	case "tty":
		_, err := os.Open("/dev/tty")
		fmt.Println("tty:", err != nil)
	case "umask":
		fmt.Printf("%03o\n", umask())
	case "flood":
		block := []byte(strings.Repeat("all work and no play\n", 1000))
		for {
			if _, err := os.Stdout.Write(block); err != nil {
				return 3
			}
		}
	case "lines": // N lines, then a status: a check whose end matters
		n, _ := strconv.Atoi(args[0])
		out := bufio.NewWriter(os.Stdout)
		for i := range n {
			fmt.Fprintln(out, "line", i)
		}
		if out.Flush() != nil {
			return 9
		}
		n, _ = strconv.Atoi(args[1])
		return n
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("here")
		time.Sleep(30 * time.Second)
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("here")
		<-c
		fmt.Println("bye")
		return 5
	case "sleep":
		time.Sleep(30 * time.Second)
	default:
		return 99
	}
	return 0
}

// A place is a granted folder with a helper program in it.
type place struct {
	t    testing.TB
	root string
}

func newPlace(t testing.TB) place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(exe, filepath.Join(root, "helper")))
	return place{t, root}
}

func (p place) write(name, text string, mode os.FileMode) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(text), mode))
	require.NoError(p.t, os.Chmod(path, mode))
}

// run runs a plan and refuses errors; a problem is the caller's affair.
func (p place) run(plan *shell.Plan, change ...func(*Job, *Options)) events.Run {
	p.t.Helper()
	job := Job{Plan: plan, CWD: p.root, Root: p.root, Timeout: 20 * time.Second}
	opts := Options{WaitDelay: 200 * time.Millisecond, Grace: 100 * time.Millisecond}
	for _, c := range change {
		c(&job, &opts)
	}
	run, err := Run(context.Background(), job, opts)
	require.NoError(p.t, err)
	return run
}

// ok is run for a plan that must run to its end.
func (p place) ok(plan *shell.Plan, change ...func(*Job, *Options)) events.Run {
	p.t.Helper()
	run := p.run(plan, change...)
	require.Empty(p.t, run.Problem, run.Detail)
	return run
}

func word(s string) shell.Word { return shell.Word{{Kind: "lit", Text: s}} }

func words(argv ...string) []shell.Word {
	var ws []shell.Word
	for _, a := range argv {
		ws = append(ws, word(a))
	}
	return ws
}

func part(kind, text string) shell.Word { return shell.Word{{Kind: kind, Text: text}} }

// x is one command.
func x(argv ...string) *shell.Plan {
	return &shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{Argv: words(argv...)}}
}

// c is one command that checks something.
func c(argv ...string) *shell.Plan {
	p := x(argv...)
	p.Exec.Checks = true
	return p
}

// h is the helper program in one of its modes.
func h(mode string, args ...string) *shell.Plan {
	p := c(append([]string{"./helper"}, args...)...)
	p.Exec.Env = []shell.Assign{
		{Name: helperVar, Value: word(mode)},
		{Name: "GORACE", Value: word("atexit_sleep_ms=0")}, // else each one takes a second under the race detector
	}
	return p
}

func builtin(name string, argv ...string) *shell.Plan {
	p := x(argv...)
	p.Exec.Builtin = name
	return p
}

func cd(dir string) *shell.Plan { return builtin("cd", "cd", dir) }

func op(o shell.Op, kids ...*shell.Plan) *shell.Plan {
	p := &shell.Plan{Op: o}
	for _, k := range kids {
		p.Kids = append(p.Kids, *k)
	}
	return p
}

func pipe(kids ...*shell.Plan) *shell.Plan { return op(shell.OpPipe, kids...) }
func and(kids ...*shell.Plan) *shell.Plan  { return op(shell.OpAnd, kids...) }
func or(kids ...*shell.Plan) *shell.Plan   { return op(shell.OpOr, kids...) }
func seq(kids ...*shell.Plan) *shell.Plan  { return op(shell.OpSeq, kids...) }
func not(kid *shell.Plan) *shell.Plan      { return op(shell.OpNot, kid) }
func sub(kid *shell.Plan) *shell.Plan      { return op(shell.OpSub, kid) }

// redir adds redirections to a command.
func redir(p *shell.Plan, acts ...shell.FDAction) *shell.Plan {
	p.Exec.Redirs = append(p.Exec.Redirs, acts...)
	return p
}

// arg adds a word to a command.
func arg(p *shell.Plan, w shell.Word) *shell.Plan {
	p.Exec.Argv = append(p.Exec.Argv, w)
	return p
}
