//go:build linux || darwin

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules/shell"
)

func TestRunRecordsWhatRan(t *testing.T) {
	p := newPlace(t)
	run := p.ok(c("sh", "-c", "echo out; echo err >&2; exit 3"), func(j *Job, _ *Options) { j.Command = "as written" })

	require.Equal(t, "command", run.Check)
	require.Equal(t, "as written", run.Command)
	require.Equal(t, p.root, run.CWD)
	require.Equal(t, p.root, run.Root)
	require.Equal(t, 3, run.Exit)
	require.Equal(t, 3, run.CheckExit)
	require.False(t, run.Masked)
	require.Equal(t, "out\n", run.Stdout.Text)
	require.Equal(t, "err\n", run.Stderr.Text)
	require.EqualValues(t, 4, run.Stdout.Bytes)
	require.EqualValues(t, 1, run.Stdout.Lines)
	sum := sha256.Sum256([]byte("out\n"))
	require.Equal(t, hex.EncodeToString(sum[:]), run.Stdout.SHA256)
	require.Equal(t, "none", run.Sandbox.Backend)
	require.NotEmpty(t, run.Sandbox.Degraded)
	require.WithinDuration(t, time.Now(), run.Started, time.Minute)
	require.EqualValues(t, 20_000, run.TimeoutMS)
	require.Positive(t, run.MaxRSSKB)

	require.Len(t, run.Stages, 1)
	stage := run.Stages[0]
	require.Equal(t, []string{"sh", "-c", "echo out; echo err >&2; exit 3"}, stage.Argv)
	require.Equal(t, p.root, stage.Dir)
	require.True(t, filepath.IsAbs(stage.Program))
	require.Len(t, stage.SHA256, 64)
	require.False(t, stage.InTree)
	require.Equal(t, 3, stage.Exit)
}

func TestArgumentsAreExact(t *testing.T) {
	p := newPlace(t)
	run := p.ok(h("args", "a b", "", "$HOME", "*", "`id`", "x;y", "ü\n"))
	require.Equal(t, "\"a b\"\n\"\"\n\"$HOME\"\n\"*\"\n\"`id`\"\n\"x;y\"\n\"ü\\n\"\n", run.Stdout.Text)
}

func TestNoInputAndNoTerminal(t *testing.T) {
	p := newPlace(t)
	require.Equal(t, "read 0 <nil>\n", p.ok(h("stdin")).Stdout.Text)
	require.Equal(t, "tty: true\n", p.ok(h("tty")).Stdout.Text)
}

func TestUmaskIsTheRunsOwn(t *testing.T) {
	before := umask()
	p := newPlace(t)
	run := p.ok(h("umask"))
	if slices.Contains(run.Sandbox.Degraded, "umask: that of this process") {
		require.Equal(t, octal(before), run.Stdout.Text)
	} else {
		require.Equal(t, "022\n", run.Stdout.Text)
	}
	require.Equal(t, before, umask(), "that of this process must not change")
}

func TestMisuseIsAnError(t *testing.T) {
	p := newPlace(t)
	bad := map[string]Job{
		"nothing to do":    {CWD: p.root, Root: p.root},
		"no root":          {Plan: x("true"), CWD: p.root},
		"negative timeout": {Plan: x("true"), CWD: p.root, Root: p.root, Timeout: -1},
		"no exec":          {Plan: &shell.Plan{Op: shell.OpRun}, CWD: p.root, Root: p.root},
		"unknown op":       {Plan: &shell.Plan{Op: "loop", Kids: []shell.Plan{*x("true")}}, CWD: p.root, Root: p.root},
		"piped list":       {Plan: pipe(and(x("true"), x("true")), x("true")), CWD: p.root, Root: p.root},
		"unknown builtin":  {Plan: builtin("eval", "eval"), CWD: p.root, Root: p.root},
		"written file":     {Plan: redir(x("true"), shell.FDAction{FD: 1, File: "f"}), CWD: p.root, Root: p.root},
	}
	for name, job := range bad {
		_, err := Run(context.Background(), job, Options{})
		require.Error(t, err, name)
	}
}

func TestCancelledRunIsAnError(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, Job{Plan: x("true"), CWD: p.root, Root: p.root}, Options{})
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = Run(ctx, Job{Plan: h("sleep"), CWD: p.root, Root: p.root}, Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begin), 5*time.Second)
}

func TestWorkingFolderProblems(t *testing.T) {
	p := newPlace(t)
	p.write("file", "", 0o644)
	for cwd, want := range map[string]string{
		"":                                   CWDUnknown,
		"relative":                           CWDUnknown,
		filepath.Join(p.root, "gone"):        CWDMissing,
		filepath.Join(p.root, "file"):        CWDNotDir,
		filepath.Join(p.root, "file", "sub"): CWDNotDir,
		filepath.Dir(p.root):                 CWDNotGranted,
	} {
		run := p.run(x("true"), func(j *Job, _ *Options) { j.CWD = cwd })
		require.Equal(t, want, run.Problem, cwd)
		require.NotEmpty(t, run.Detail)
		require.Empty(t, run.Stages)
	}
}

func TestCheckCWD(t *testing.T) {
	p := newPlace(t)
	outer, inner := filepath.Join(p.root, "a"), filepath.Join(p.root, "a", "b")
	require.NoError(t, os.MkdirAll(filepath.Join(inner, "c"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(p.root, "ab"), 0o755))
	link := filepath.Join(p.root, "link")
	require.NoError(t, os.Symlink(inner, link))
	out := filepath.Join(inner, "out")
	require.NoError(t, os.Symlink(p.root, out))

	resolved, root, problem, _ := CheckCWD(filepath.Join(link, "c"), []string{p.root + "/gone", outer, link})
	require.Empty(t, problem)
	require.Equal(t, filepath.Join(inner, "c"), resolved)
	require.Equal(t, inner, root, "the longest root wins, with its links followed")

	_, _, problem, _ = CheckCWD(filepath.Join(p.root, "ab"), []string{outer})
	require.Equal(t, CWDNotGranted, problem, "a longer name is not inside")
	_, _, problem, _ = CheckCWD(out, []string{outer})
	require.Equal(t, CWDNotGranted, problem, "a link leads out")
	_, _, problem, _ = CheckCWD(inner, nil)
	require.Equal(t, CWDNotGranted, problem)
	_, root, problem, _ = CheckCWD(inner, []string{"/"})
	require.Empty(t, problem)
	require.Equal(t, "/", root)
}

func TestTimeout(t *testing.T) {
	short := func(j *Job, o *Options) { j.Timeout, o.Grace = 300*time.Millisecond, 100*time.Millisecond }
	p := newPlace(t)

	run := p.run(h("polite"), short)
	require.Equal(t, Timeout, run.Problem)
	require.Equal(t, "here\nbye\n", run.Stdout.Text, "it is asked first")

	begin := time.Now()
	run = p.run(seq(h("stubborn"), x("echo", "not reached")), short)
	require.Less(t, time.Since(begin), 5*time.Second)
	require.Equal(t, Timeout, run.Problem)
	require.Equal(t, "here\n", run.Stdout.Text)
	require.Equal(t, "SIGKILL", run.Stages[0].Signal)
	require.Equal(t, 137, run.Exit)

	run = p.run(seq(h("polite"), x("true")), short)
	require.Equal(t, Timeout, run.Problem)
	require.Equal(t, 5, run.Exit)
}

func TestTimeoutIsNeverAPass(t *testing.T) {
	p := newPlace(t)
	plan := or(h("stubborn"), x("true"))
	run := p.run(plan, func(j *Job, _ *Options) { j.Timeout = 200 * time.Millisecond })
	require.Equal(t, Timeout, run.Problem)
	require.NotZero(t, run.Exit)
	require.NotZero(t, run.CheckExit)
}

func TestNothingHoldsARunUp(t *testing.T) {
	p := newPlace(t)
	for name, plan := range map[string]*shell.Plan{
		"background":         x("sh", "-c", "sleep 30 & echo hi"),
		"background in pipe": pipe(x("sh", "-c", "sleep 30 & echo hi"), x("cat")),
		"checked in pipe":    pipe(c("sh", "-c", "sleep 30 & echo hi"), x("cat")),
	} {
		begin := time.Now()
		run := p.ok(plan)
		require.Less(t, time.Since(begin), 5*time.Second, name)
		require.Equal(t, "hi\n", run.Stdout.Text, name)
		require.Len(t, run.Sandbox.Degraded, len(none{}.sandbox().Degraded), name)
	}
}

func TestWhatIsLeftBehindIsKilled(t *testing.T) {
	p := newPlace(t)
	run := p.ok(x("sh", "-c", "sleep 30 & echo $!"))
	pid := strings.TrimSpace(run.Stdout.Text)
	require.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, 5*time.Millisecond)
}

// A process that left its session cannot be ended without namespaces; but it cannot hold up the run, and it shows.
func TestEscapedProcessIsReported(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("needs setsid")
	}
	p := newPlace(t)
	begin := time.Now()
	run := p.ok(x("sh", "-c", "setsid sleep 4 & echo hi; sleep 0.1"))
	require.Less(t, time.Since(begin), 3*time.Second)
	require.Equal(t, "hi\n", run.Stdout.Text)
	require.Contains(t, run.Sandbox.Degraded[len(run.Sandbox.Degraded)-1], "left behind")

	begin = time.Now()
	run = p.ok(pipe(c("sh", "-c", "setsid sleep 4 & echo hi; sleep 0.1"), x("cat")))
	require.Less(t, time.Since(begin), 3*time.Second, "nor a pipe behind a check")
	require.Equal(t, "hi\n", run.Stdout.Text)
}

func TestOutputLimit(t *testing.T) {
	p := newPlace(t)
	begin := time.Now()
	run := p.run(h("flood"), func(_ *Job, o *Options) { o.MaxOutputBytes = 1 << 20 })
	require.Less(t, time.Since(begin), 10*time.Second)
	require.Equal(t, OutputLimit, run.Problem)
	require.Greater(t, run.Stdout.Bytes, int64(1<<20))
	require.True(t, run.Stdout.Truncated)
	require.Equal(t, 137, run.Exit)
}

// A check that writes into a pipe runs to its end, whatever its reader does.
func TestCheckOutlivesItsReader(t *testing.T) {
	p := newPlace(t)
	for _, status := range []string{"0", "4"} {
		run := p.ok(pipe(h("lines", "100000", status), x("head", "-n", "1")))
		require.Equal(t, "line 0\n", run.Stdout.Text)
		require.Equal(t, 0, run.Exit)
		require.Equal(t, status, string(rune('0'+run.CheckExit)))
		require.Equal(t, status != "0", run.Masked)
		require.Empty(t, run.Stages[0].Signal)
	}
	writer := h("lines", "100000", "4")
	writer.Exec.Checks = false
	run := p.ok(pipe(writer, x("head", "-n", "1")))
	require.Equal(t, "SIGPIPE", run.Stages[0].Signal, "what checks nothing ends as in a shell")
}

func TestTestFactsComeFromBehindTheFilter(t *testing.T) {
	p := newPlace(t)
	p.write("pytest", "#!/bin/sh\necho '=== 1 failed, 2 passed in 0.10s ==='\nexit 1\n", 0o755)
	run := p.ok(pipe(c("./pytest"), x("grep", "-c", "nothing of it")))
	require.Equal(t, "0\n", run.Stdout.Text)
	require.NotNil(t, run.Tests)
	require.EqualValues(t, 2, run.Tests.Passed)
	require.EqualValues(t, 1, run.Tests.Failed)

	run = p.ok(pipe(c("./pytest"), x("cat")))
	require.EqualValues(t, 2, run.Tests.Passed, "nothing is counted twice")
}

func TestFilesAreLookedAtAfterTheRun(t *testing.T) {
	p := newPlace(t)
	run := p.ok(x("sh", "-c", "echo made >new"), func(j *Job, _ *Options) { j.Paths = []string{"new", "absent"} })
	require.Len(t, run.Files, 2)
	require.True(t, run.Files[0].Exists)
	require.False(t, run.Files[1].Exists)

	run = p.ok(nil, func(j *Job, _ *Options) { j.Paths = []string{"new"} })
	require.Equal(t, "file", run.Check)
	require.Empty(t, run.Stages)
	require.True(t, run.Files[0].Exists)
}

func TestPrivateFoldersAreRemoved(t *testing.T) {
	p := newPlace(t)
	tmp := t.TempDir()
	run := p.ok(x("sh", "-c", `mkdir -p "$HOME/a/b" "$TMPDIR/c" && touch "$HOME/a/b/f" && chmod 500 "$HOME/a/b" && echo "$HOME"`),
		func(_ *Job, o *Options) { o.TempDir = tmp })
	require.Contains(t, run.Stdout.Text, tmp)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}
