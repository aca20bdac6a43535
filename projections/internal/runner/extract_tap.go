package runner

import (
	"bytes"
	"strconv"

	"github.com/dalkkak/dkgraph/events"
)

// tapTest reads the Test Anything Protocol and the closing lines of `node --test`, which are the same in its two forms:
// "# pass 3" in TAP, "ℹ pass 3" in the one for people.
type tapTest struct {
	closing bool // closing lines were seen: they count more exactly than the points
	node    bool
	sums    struct{ tests, pass, fail, cancelled, skipped, todo int64 }

	plan, version          bool // a plan, a version line
	ok, notOK, skippedOnes int64
}

func (t *tapTest) line(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte("# ")):
		t.sum(line[2:])
	case bytes.HasPrefix(line, []byte("ℹ ")):
		t.sum(line[len("ℹ "):])
	case bytes.HasPrefix(line, []byte("ok ")), bytes.HasPrefix(line, []byte("not ok ")):
		t.point(line)
	case bytes.HasPrefix(line, []byte("1..")):
		if _, err := strconv.Atoi(string(firstWord(line[3:]))); err == nil {
			t.plan = true
		}
	case bytes.HasPrefix(line, []byte("TAP version ")):
		t.version = true
	}
}

func (t *tapTest) sum(rest []byte) {
	key := firstWord(rest)
	number := bytes.TrimSpace(rest[len(key):])
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < 0 {
		return
	}
	switch string(key) {
	case "tests":
		t.sums.tests += n
		t.closing = true
	case "suites":
		t.node = true
	case "pass":
		t.sums.pass += n
	case "fail":
		t.sums.fail += n
	case "cancelled":
		t.sums.cancelled += n
	case "skipped":
		t.sums.skipped += n
	case "todo":
		t.sums.todo += n
	}
}

func firstWord(b []byte) []byte {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i]
	}
	return b
}

func (t *tapTest) point(line []byte) {
	upper := bytes.ToUpper(line)
	switch { // a directive stands after a space; \# in a name is none
	case bytes.Contains(upper, []byte(" # SKIP")), bytes.Contains(upper, []byte(" # TODO")):
		t.skippedOnes++
	case line[0] == 'o':
		t.ok++
	default:
		t.notOK++
	}
}

func (t *tapTest) facts() *events.Tests {
	f := &events.Tests{Framework: "tap", Extractor: "tap@1", Counted: true}
	switch {
	case t.closing:
		f.Passed, f.Failed, f.Skipped = t.sums.pass, t.sums.fail+t.sums.cancelled, t.sums.skipped+t.sums.todo
	case t.plan && (t.version || t.ok+t.notOK+t.skippedOnes > 0):
		f.Passed, f.Failed, f.Skipped = t.ok, t.notOK, t.skippedOnes
	default:
		return nil
	}
	if t.node {
		f.Framework, f.Extractor = "node --test", "node_test@1"
	}
	f.Run = f.Passed + f.Failed
	f.None = f.Run == 0
	return f
}
