//go:build linux || darwin

package runner

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules/shell"
)

// Real tools work in the environment of a run, with their caches, and their reports are understood.
func TestRealTools(t *testing.T) {
	p := newPlace(t)
	p.write("go/go.mod", "module example.org/m\n\ngo 1.21\n", 0o644)
	p.write("go/a_test.go", "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestBad(t *testing.T) { t.Error(\"no good\") }\n", 0o644)
	p.write("js/a.test.js", "const test = require('node:test');\ntest('good', () => {});\ntest('bad', () => { throw new Error('no good'); });\n", 0o644)
	p.write("py/test_a.py", "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_good(self):\n        pass\n\n    def test_bad(self):\n        self.fail('no good')\n", 0o644)
	for _, tc := range []struct {
		dir  string
		argv []string
	}{
		{"go", []string{"go", "test", "-v", "./..."}},
		{"js", []string{"node", "--test"}},
		{"py", []string{"python3", "-m", "unittest"}},
	} {
		t.Run(tc.argv[0], func(t *testing.T) {
			if _, err := exec.LookPath(tc.argv[0]); err != nil {
				t.Skip("not installed")
			}
			p := place{t, p.root}
			run := p.ok(and(cd(tc.dir), c(tc.argv...)), allTheTime)
			require.Equal(t, 1, run.Exit, run.Stderr.Text)
			require.NotNil(t, run.Tests, run.Stdout.Text+run.Stderr.Text)
			require.EqualValues(t, 1, run.Tests.Passed)
			require.EqualValues(t, 1, run.Tests.Failed)
			require.True(t, containsLine(run.Highlights, "no good"), "%q", run.Highlights)
		})
	}
}

func allTheTime(j *Job, _ *Options) { j.Timeout = 5 * time.Minute }

// An inherited GOFLAGS cannot leave out the tests, and a second run is not answered from the cache.
func TestGoTestIsNotFooled(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("not installed")
	}
	p := newPlace(t)
	p.write("go.mod", "module example.org/m\n\ngo 1.21\n", 0o644)
	p.write("a_test.go", "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n", 0o644)
	fooled := func(j *Job, o *Options) {
		allTheTime(j, o)
		o.Environ = append(os.Environ(), "GOFLAGS=-run=^$")
	}
	for range 2 {
		run := p.ok(c("go", "test", "-v", "."), fooled)
		require.Zero(t, run.Exit, run.Stderr.Text)
		require.EqualValues(t, 1, run.Tests.Passed)
		require.Zero(t, run.Tests.Cached)
	}
}

// git runs nothing that the repository's own configuration names.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("not installed")
	}
	p := newPlace(t)
	p.write("monitor", "#!/bin/sh\necho ran >ran\n", 0o755)
	git := func(args ...string) *shell.Plan { return x(append([]string{"git"}, args...)...) }
	p.ok(and(git("init", "-q"), git("config", "core.fsmonitor", "./monitor"), git("status", "--short")))
	require.NoFileExists(t, p.root+"/ran")
	p.ok(and(git("add", "monitor"), git("commit", "-qm", "suites that commit have an identity")))
}
