//go:build linux || darwin

package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// analyse feeds an output, in lines, to the analysis that belongs to a command.
func analyse(plan *shell.Plan, output string) *analysis {
	a := newAnalysis(plan)
	var l lineReader
	var buf []byte
	f := func(line []byte, more bool) {
		if buf = plainLine(buf, line); !more {
			a.line(lastOverwrite(buf))
		}
	}
	l.take([]byte(output), f)
	l.end(f)
	return a
}

func TestExtractors(t *testing.T) {
	tests := func(framework, extractor string, passed, failed, skipped int64) *events.Tests {
		return &events.Tests{
			Framework: framework, Extractor: extractor, Run: passed + failed,
			Passed: passed, Failed: failed, Skipped: skipped, Counted: true, None: passed+failed == 0,
		}
	}
	goTests := func(passed, failed, skipped int64, counted bool) *events.Tests {
		f := tests("go test", "go_test@1", passed, failed, skipped)
		f.Counted, f.None = counted, false
		return f
	}
	cached := goTests(0, 0, 0, false)
	cached.Cached = 1
	goNone := goTests(0, 0, 0, false)
	goNone.None = true
	goJSON := goTests(2, 1, 1, true)
	goJSON.Extractor = "go_test_json@1"

	goTestCmd := []string{"go", "test", "./..."}
	node := []string{"node", "--test"}
	pytest := []string{"timeout", "60", "pytest", "-q"}
	unittest := []string{"python3", "-m", "unittest"}
	for file, want := range map[string]struct {
		argv  []string
		facts *events.Tests
	}{
		"go_ok.txt":          {goTestCmd, goTests(0, 0, 0, false)},
		"go_cached.txt":      {goTestCmd, cached},
		"go_fail.txt":        {goTestCmd, goTests(0, 1, 0, false)},
		"go_v_fail.txt":      {goTestCmd, goTests(2, 1, 1, true)},
		"go_json_fail.txt":   {goTestCmd, goJSON},
		"go_none.txt":        {goTestCmd, goNone},
		"go_nofiles.txt":     {goTestCmd, goNone},
		"go_build_fail.txt":  {goTestCmd, goTests(0, 1, 0, false)},
		"go_panic.txt":       {goTestCmd, goTests(0, 1, 0, false)},
		"node_tap_fail.txt":  {node, tests("node --test", "node_test@1", 1, 1, 1)},
		"node_spec_fail.txt": {node, tests("node --test", "node_test@1", 1, 1, 1)},
		"node_ok.txt":        {node, tests("node --test", "node_test@1", 2, 0, 0)},
		"node_none.txt":      {node, tests("node --test", "node_test@1", 0, 0, 2)},
		"tape_fail.txt":      {[]string{"node", "a.js"}, tests("tap", "tap@1", 1, 1, 0)},
		"pytest_fail.txt":    {pytest, tests("pytest", "pytest@1", 1, 1, 1)},
		"pytest_q_ok.txt":    {pytest, tests("pytest", "pytest@1", 1, 0, 0)},
		"pytest_none.txt":    {pytest, tests("pytest", "pytest@1", 0, 0, 0)},
		"pytest_error.txt":   {pytest, tests("pytest", "pytest@1", 0, 1, 0)},
		"unittest_fail.txt":  {unittest, tests("unittest", "unittest@1", 1, 1, 1)},
		"unittest_ok.txt":    {unittest, tests("unittest", "unittest@1", 1, 0, 0)},
		"unittest_none.txt":  {unittest, tests("unittest", "unittest@1", 0, 0, 0)},
		"cargo_fail.txt":     {[]string{"cargo", "test"}, tests("cargo test", "cargo_test@1", 1, 1, 1)},
		"cargo_ok.txt":       {[]string{"cargo", "test", "good"}, tests("cargo test", "cargo_test@1", 1, 0, 0)},
		"cargo_none.txt":     {[]string{"cargo", "test", "zzz"}, tests("cargo test", "cargo_test@1", 0, 0, 0)},
		"jest_fail.txt":      {[]string{"npx", "jest"}, tests("jest", "jest@1", 1, 1, 1)},
		"jest_ok.txt":        {[]string{"npx", "jest"}, tests("jest", "jest@1", 1, 0, 0)},
		"jest_none.txt":      {[]string{"npx", "jest"}, tests("jest", "jest@1", 0, 0, 0)},
		"vitest_fail.txt":    {[]string{"npx", "vitest", "run"}, tests("vitest", "vitest@1", 1, 1, 1)},
		"vitest_ok.txt":      {[]string{"npx", "vitest", "run"}, tests("vitest", "vitest@1", 1, 0, 0)},
		"vitest_none.txt":    {[]string{"npx", "vitest", "run"}, tests("vitest", "vitest@1", 0, 0, 0)},
		"mocha_fail.txt":     {[]string{"npx", "mocha"}, tests("mocha", "mocha@1", 1, 1, 1)},
		"mocha_ok.txt":       {[]string{"npx", "mocha"}, tests("mocha", "mocha@1", 1, 0, 0)},
		"mocha_none.txt":     {[]string{"npx", "mocha"}, tests("mocha", "mocha@1", 0, 0, 0)},
	} {
		output, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		require.Equal(t, want.facts, analyse(c(want.argv...), string(output)).tests(), file)
		require.Equal(t, want.facts, analyse(c("npm", "test"), string(output)).tests(), "%s, told by its output alone", file)
	}
}

// The closing lines of runners that are not installed here, as their documentation and sources have them.
func TestClosingLines(t *testing.T) {
	for output, want := range map[string]string{
		"     Summary [   0.412s] 3 tests run: 2 passed (1 slow), 1 failed, 4 skipped": "nextest@1 2 1 4",
		"error: no tests to run": "nextest@1 0 0 0 none",
		"[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1": "maven@1 2 2 1",
		"[INFO] No tests to run.": "maven@1 0 0 0 none",
		"> Task :compileJava\n> Task :app:test UP-TO-DATE\nBUILD SUCCESSFUL in 1s":                  "gradle@1 0 0 0 cached 1 uncounted",
		"> Task :test\nBUILD SUCCESSFUL in 1s":                                                      "gradle@1 0 0 0 uncounted",
		"> Task :test FAILED\n5 tests completed, 1 failed, 2 skipped":                               "gradle@1 2 1 2",
		"> Task :test NO-SOURCE":                                                                    "gradle@1 0 0 0 none",
		"3 examples, 1 failure, 1 pending":                                                          "rspec@1 1 1 1",
		"0 examples, 0 failures":                                                                    "rspec@1 0 0 0 none",
		"8 runs, 9 assertions, 1 failures, 1 errors, 2 skips":                                       "minitest@1 4 2 2",
		"OK (3 tests, 5 assertions)":                                                                "phpunit@1 3 0 0",
		"FAILURES!\nTests: 4, Assertions: 3, Failures: 1, Skipped: 1.":                              "phpunit@1 2 1 1",
		"1 doctest, 3 tests, 1 failure":                                                             "exunit@1 2 1 0",
		"Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 2 ms - x": "dotnet_test@1 3 0 1",
		"67% tests passed, 1 tests failed out of 3":                                                 "ctest@1 2 1 0",
		"No tests were found!!!":                                                                    "ctest@1 0 0 0 none",
		"ok | 3 passed (2 steps) | 0 failed | 1 ignored (12ms)":                                     "deno_test@1 3 0 1",
		" 2 pass\n 1 fail\n 3 expect() calls\nRan 3 tests across 1 file. [8.00ms]":                  "bun_test@1 2 1 0",
		"TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP not now\n1..3":                     "tap@1 1 1 1",
		"TAP version 13\nok 1 - a\nnot ok 2 - keeps \\# TODO and \\# SKIP in a name\n1..2":          "tap@1 1 1 0",
		"TAP version 13\n1..0 # no tests":                                                           "tap@1 0 0 0 none",
		"Ran 5 tests in 0.1s\nFAILED (failures=1, errors=1, expected failures=1)":                   "unittest@1 2 2 1",
		"2 passed, 1 xfailed, 1 warning in 0.05s (0:00:00)":                                         "pytest@1 2 0 1",
		"go: warning: \"./...\" matched no packages\nno packages to test":                           "go_test@1 0 0 0 uncounted none",
		"=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \tm/a\t0.1s":                           "go_test@1 0 0 1 none",
		"FAIL\tm/a [setup failed]":                                                                  "go_test@1 0 1 0 uncounted",
		"all fine\nOK\n":                                                                            "nothing",
	} {
		require.Equal(t, want, brief(analyse(x("make", "check"), output).tests()), output)
	}
}

func brief(f *events.Tests) string {
	if f == nil {
		return "nothing"
	}
	var b strings.Builder
	b.WriteString(f.Extractor)
	for _, n := range []int64{f.Passed, f.Failed, f.Skipped} {
		b.WriteString(" " + itoa(n))
	}
	if f.Cached > 0 {
		b.WriteString(" cached " + itoa(f.Cached))
	}
	if !f.Counted {
		b.WriteString(" uncounted")
	}
	if f.None {
		b.WriteString(" none")
	}
	return b.String()
}

func itoa(n int64) string { return string(rune('0' + n)) }

func TestFactsOfSeveralRunnersAddUp(t *testing.T) {
	plan := and(c("go", "test", "-v", "./..."), c("npx", "jest"))
	a := analyse(plan, "--- PASS: TestA (0.00s)\nPASS\nok  \tm/a\t0.1s\nTests:       1 failed, 2 passed, 3 total\n5 passed in 0.1s\n")
	require.Equal(t, &events.Tests{
		Framework: "go test + jest", Extractor: "go_test@1 + jest@1",
		Run: 4, Passed: 3, Failed: 1, Counted: true,
	}, a.tests(), "pytest is none of the commands")
}

func TestRunnersOf(t *testing.T) {
	for line, want := range map[string][]string{
		"go test ./...":                {"go"},
		"go vet ./...":                 {},
		"timeout 60 npx jest --ci":     {"jest"},
		"uv run python -m pytest":      {"pytest"},
		"./node_modules/.bin/vitest":   {"vitest"},
		"cargo clippy":                 {},
		"cargo nextest run":            {"nextest"},
		"npm test":                     nil,
		"python3 -m tox":               nil,
		"./gradlew test":               {"gradle"},
		"node --experimental --test x": {"tap"},
	} {
		require.Equal(t, want, runnersOf(c(strings.Fields(line)...)), line)
	}
	require.Equal(t, []string{"go"}, runnersOf(pipe(c("go", "test"), x("tail"))), "filters have no say")
}

func TestHighlights(t *testing.T) {
	for file, want := range map[string][]string{
		"go_fail.txt":       {"        a_test.go:7: got 1, want 2", "--- FAIL: TestBad (0.00s)", "    --- FAIL: TestBad/sub (0.00s)", "FAIL\texample.org/m/a\t"},
		"go_build_fail.txt": {`d/d.go:1:34: cannot use "a" (untyped string constant) as int value in return statement`},
		"pytest_fail.txt":   {"E       AssertionError: 1 != 2"},
		"unittest_fail.txt": {"AssertionError: 1 != 2", "FAIL: test_bad (test_a.A.test_bad)"},
		"cargo_fail.txt":    {"assertion `left == right` failed"},
		"node_tap_fail.txt": {"not ok 2 - bad"},
		"jest_fail.txt":     {"● bad", "FAIL ./a.test.js"},
		"mocha_fail.txt":    {"AssertionError [ERR_ASSERTION]: 1 == 2"},
		"vitest_fail.txt":   {"AssertionError: expected 1 to be 2"},
	} {
		output, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		got := analyse(c("npm", "test"), string(output)).highlights(newRedactor(nil))
		require.LessOrEqual(t, len(got), maxHighlights)
		for _, w := range want {
			require.True(t, containsLine(got, w), "%s: %q in %q", file, w, got)
		}
	}
}

// What a passing test logs is no reason.
func TestHighlightsOfVerboseGoTests(t *testing.T) {
	passing := "=== RUN   TestA\n=== RUN   TestA/sub\n    a_test.go:1: logged\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/sub (0.00s)\n"
	failing := "=== RUN   TestB\n    a_test.go:2: wrong\n--- FAIL: TestB (0.00s)\n"
	a := analyse(c("go", "test", "-v"), strings.Repeat(passing, 20)+failing+passing+"FAIL\tm\t0.1s\n")
	require.Equal(t, []string{"    a_test.go:2: wrong", "--- FAIL: TestB (0.00s)", "FAIL\tm\t0.1s"}, a.highlights(newRedactor(nil)))

	parallel := "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n    a_test.go:2: wrong\n--- PASS: TestB (0.00s)\n--- FAIL: TestA (0.00s)\n"
	a = analyse(c("go", "test", "-v"), parallel)
	require.Equal(t, []string{"    a_test.go:2: wrong", "--- FAIL: TestA (0.00s)"}, a.highlights(newRedactor(nil)))
}

func containsLine(lines []string, want string) bool {
	for _, l := range lines {
		if strings.Contains(l, want) {
			return true
		}
	}
	return false
}

func TestHighlightsAreBoundedAndClean(t *testing.T) {
	var out bytes.Buffer
	for range 50 {
		out.WriteString("\x1b[31mError: \x1b[0mtoken=hunter2hunter2 " + strings.Repeat("x", 1000) + "\n")
	}
	out.WriteString("--- FAIL: TestX (0.00s)\nFAIL\tm/x\t0.1s\n")
	got := analyse(x("make"), out.String()).highlights(newRedactor(nil))
	require.Len(t, got, 3, "the same line is told once")
	require.LessOrEqual(t, len(got[0]), maxHighlightBytes)
	require.Contains(t, got[0], "Error: token=«redacted:assignment»")
	require.Equal(t, "--- FAIL: TestX (0.00s)", got[1])
}
