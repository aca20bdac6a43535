package runner

import (
	"bytes"
	"encoding/json"

	"github.com/dalkkak/dkgraph/events"
)

// goJSON turns the lines of `go test -json` back into those of `go test -v`.
type goJSON struct {
	seen bool
}

func (g *goJSON) line(line []byte) (inner []byte, ok bool) {
	if len(line) == 0 || line[0] != '{' || !bytes.Contains(line, []byte(`"Action":"`)) {
		return nil, false
	}
	var event struct{ Action, Output string }
	if json.Unmarshal(line, &event) != nil {
		return nil, false
	}
	switch event.Action {
	case "output", "build-output":
		g.seen = true
		return bytes.TrimSuffix([]byte(event.Output), []byte{'\n'}), true
	case "start", "run", "pause", "cont", "pass", "bench", "fail", "skip", "build-fail", "attr", "artifacts":
		g.seen = true
		return nil, true
	}
	return nil, false
}

// goTest reads `go test`, with and without -v. It counts top-level tests: subtests are parts of them.
type goTest struct {
	passed, failed, skipped int64
	verbose                 bool

	ok, bad, cached, empty int64 // packages: that passed, that failed, from the cache, without a test
	failedBefore           int64 // failed, when the last package ended
	unexplained            bool  // a package failed and none of its tests did: it did not build, or it died
}

func (g *goTest) line(line []byte) {
	if len(line) < 4 {
		return
	}
	switch line[0] {
	case '-':
		g.test(line)
	case '=':
		if bytes.HasPrefix(line, []byte("=== RUN ")) {
			g.verbose = true
		}
	case 'o':
		if bytes.HasPrefix(line, []byte("ok  \t")) {
			g.passedPackage(line)
		}
	case 'F':
		if bytes.HasPrefix(line, []byte("FAIL\t")) {
			g.bad++
			if g.failed == g.failedBefore {
				g.failed++
				g.unexplained = true
			}
			g.failedBefore = g.failed
		}
	case '?':
		if bytes.HasPrefix(line, []byte("?   \t")) && bytes.Contains(line, []byte("[no test files]")) {
			g.empty++
		}
	case 'g', 'n':
		if bytes.HasSuffix(line, []byte("matched no packages")) || bytes.Equal(line, []byte("no packages to test")) {
			g.empty++
		}
	}
}

func (g *goTest) test(line []byte) {
	switch {
	case bytes.IndexByte(line, '/') >= 0: // a subtest, which -json does not indent
	case bytes.HasPrefix(line, []byte("--- PASS: ")):
		g.passed++
		g.verbose = true
	case bytes.HasPrefix(line, []byte("--- FAIL: ")):
		g.failed++
	case bytes.HasPrefix(line, []byte("--- SKIP: ")):
		g.skipped++
		g.verbose = true
	}
}

func (g *goTest) passedPackage(line []byte) {
	g.failedBefore = g.failed
	switch {
	case bytes.Contains(line, []byte("[no tests to run]")):
		g.empty++
		return
	case bytes.Contains(line, []byte("\t(cached)")):
		g.cached++
	}
	g.ok++
}

func (g *goTest) facts() *events.Tests {
	if g.ok+g.bad+g.empty+g.passed+g.failed+g.skipped == 0 {
		return nil
	}
	return &events.Tests{
		Framework: "go test", Extractor: "go_test@1",
		Run: g.passed + g.failed, Passed: g.passed, Failed: g.failed, Skipped: g.skipped, Cached: g.cached,
		Counted: g.verbose && !g.unexplained,
		None:    g.passed+g.failed == 0 && (g.skipped > 0 || g.empty > 0 && g.ok+g.bad == 0),
	}
}
