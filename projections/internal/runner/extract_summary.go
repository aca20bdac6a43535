package runner

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dalkkak/dkgraph/events"
)

// A summaryKind is a test runner whose closing lines say all that is to be known.
type summaryKind struct {
	runner    string // as it is called
	framework string
	extractor string
	lines     []summaryLine
}

// A summaryLine is one form of closing line.
type summaryLine struct {
	first  string // the bytes it can start with, spaces aside
	needle []byte // is in every such line; looking for it is cheap
	re     *regexp.Regexp
	read   func(c *counts, m []string)
}

// counts are what closing lines add up to.
type counts struct {
	seen                            bool
	passed, failed, skipped, cached int64
	total                           int64 // where a line says how many ran, and others how many of them did not pass
	uncounted                       bool
	none                            bool
}

// summaryTest counts for one summaryKind.
type summaryTest struct {
	kind summaryKind
	sum  counts
}

// A summaryReader reads the output of many summaryKinds at once. Most lines are told from closing ones by how they
// start, which keeps a long output cheap.
type summaryReader struct {
	tests   []*summaryTest
	byFirst [256][]candidate
}

type candidate struct {
	test *summaryTest
	line *summaryLine
}

func (r *summaryReader) add(kind summaryKind) {
	t := &summaryTest{kind: kind}
	r.tests = append(r.tests, t)
	for i := range kind.lines {
		for _, b := range []byte(kind.lines[i].first) {
			r.byFirst[b] = append(r.byFirst[b], candidate{t, &kind.lines[i]})
		}
	}
}

func (r *summaryReader) line(line []byte) {
	start := bytes.TrimLeft(line, " \t")
	if len(start) == 0 {
		return
	}
	for _, c := range r.byFirst[start[0]] {
		if !bytes.Contains(start, c.line.needle) {
			continue
		}
		if m := c.line.re.FindSubmatch(line); m != nil {
			text := make([]string, len(m))
			for i, b := range m {
				text[i] = string(b)
			}
			c.line.read(&c.test.sum, text)
		}
	}
}

func (s *summaryTest) facts() *events.Tests {
	c := s.sum
	if !c.seen {
		return nil
	}
	if c.total > 0 {
		c.passed += max(0, c.total-c.failed-c.skipped)
	}
	return &events.Tests{
		Framework: s.kind.framework, Extractor: s.kind.extractor,
		Run: c.passed + c.failed, Passed: c.passed, Failed: c.failed, Skipped: c.skipped, Cached: c.cached,
		Counted: !c.uncounted,
		None:    c.passed+c.failed+c.cached == 0 && (c.none || !c.uncounted),
	}
}

// number reads a group of digits; what does not fit is as good as endless.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // the pattern admits digits only; out of range gives the largest
	return n
}

var (
	pairs    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) ([a-z]+)`) })
	settings = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([A-Za-z][A-Za-z ]*)[=:] ?(\d+)`) })
)

// tally adds up texts such as "1 failed, 2 passed, 1 skipped".
func tally(c *counts, text string) {
	c.seen = true
	for _, m := range pairs().FindAllStringSubmatch(text, -1) {
		c.add(m[2], number(m[1]))
	}
}

// tallySettings adds up texts such as "failures=1, skipped=2".
func tallySettings(c *counts, text string) {
	for _, m := range settings().FindAllStringSubmatch(text, -1) {
		c.add(strings.ToLower(m[1]), number(m[2]))
	}
}

func (c *counts) add(word string, n int64) {
	switch word {
	case "passed", "passing", "pass", "xpassed":
		c.passed += n
	case "failed", "failing", "fail", "failure", "failures", "error", "errors", "unexpected successes":
		c.failed += n
	case "skipped", "skip", "skips", "pending", "todo", "ignored", "xfailed", "incomplete", "expected failures":
		c.skipped += n
	}
}

var summaryKinds = sync.OnceValue(func() []summaryKind {
	line := func(first, needle, expr string, read func(c *counts, m []string)) summaryLine {
		return summaryLine{first, []byte(needle), regexp.MustCompile(expr), read}
	}
	const digit = "0123456789"
	tallied := func(c *counts, m []string) { tally(c, m[1]) }
	nothing := func(c *counts, _ []string) { c.seen, c.none = true, true }
	// totalOf takes how many there were, and how many of them failed (each but the last) or were skipped (the last).
	totalOf := func(c *counts, total string, less ...string) {
		c.seen = true
		n := number(total)
		for i, s := range less {
			k := number(s)
			n -= k
			if i < len(less)-1 {
				c.failed += k
			} else {
				c.skipped += k
			}
		}
		c.passed += max(0, n)
	}
	return []summaryKind{
		{"pytest", "pytest", "pytest@1", []summaryLine{
			line("=n", "no tests ran in ", `^=*\s*no tests ran in [\d.]+s`, nothing),
			line("="+digit, " in ", `^=*\s*(\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*) in [\d.]+s`, tallied),
		}},
		{"unittest", "unittest", "unittest@1", []summaryLine{
			line("R", "Ran ", `^Ran (\d+) tests? in [\d.]+s`, func(c *counts, m []string) { c.seen = true; c.total += number(m[1]) }),
			line("O", "OK", `^OK \((.*=\d+)\)$`, func(c *counts, m []string) { tallySettings(c, m[1]) }),
			line("F", "FAILED", `^FAILED \((.*=\d+)\)$`, func(c *counts, m []string) { tallySettings(c, m[1]) }),
		}},
		{"jest", "jest", "jest@1", []summaryLine{
			line("T", " total", `^Tests:\s+(.*\d+ total)`, tallied),
			line("N", "No tests found", `^No tests found`, nothing),
		}},
		{"vitest", "vitest", "vitest@1", []summaryLine{
			line("T", "Tests ", `^\s*Tests\s+(\d.*)\(\d+\)`, tallied),
			line("T", "Tests ", `^\s*Tests\s+no tests`, nothing),
			line("NE", "No test files found", `^\s*(?:Error: )?No test files found`, nothing),
		}},
		{"mocha", "mocha", "mocha@1", []summaryLine{
			line(digit, " passing", `^\s*(\d+ passing)(?: \(.*\))?$`, tallied),
			line(digit, " failing", `^\s*(\d+ failing)$`, tallied),
			line(digit, " pending", `^\s*(\d+ pending)$`, tallied),
		}},
		{"cargo", "cargo test", "cargo_test@1", []summaryLine{
			line("t", "test result: ", `^test result: \w+\. (\d+ passed; \d+ failed; \d+ ignored)`, tallied),
		}},
		{"nextest", "cargo nextest", "nextest@1", []summaryLine{
			line("S", " run: ", `^\s*Summary \[.*\]\s+[\d/]+ tests? run: (.*)`, tallied),
			line("e", "no tests to run", `^error: no tests to run`, nothing),
		}},
		{"maven", "maven", "maven@1", []summaryLine{
			line("[T", "Tests run: ", `^(?:\[\w+\]\s+)?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$`,
				func(c *counts, m []string) { totalOf(c, m[1], m[2], m[3], m[4]) }),
			line("[NT", "o tests to run", `^(?:\[\w+\]\s+)?(?:No|There are no) tests to run`, nothing),
		}},
		{"gradle", "gradle", "gradle@1", []summaryLine{
			line(digit, " completed, ", `^(\d+) tests? completed, (\d+) failed(?:, (\d+) skipped)?`,
				func(c *counts, m []string) { totalOf(c, m[1], m[2], m[3]); c.uncounted = false }),
			line(">", "> Task ", `^> Task (?::[\w.-]+)*:test (?:UP-TO-DATE|FROM-CACHE)`,
				func(c *counts, _ []string) { c.seen, c.uncounted = true, true; c.cached++ }),
			line(">", "> Task ", `^> Task (?::[\w.-]+)*:test NO-SOURCE`, nothing),
			line(">", "> Task ", `^> Task (?::[\w.-]+)*:test$`, func(c *counts, _ []string) { c.seen, c.uncounted = true, true }),
		}},
		{"rspec", "rspec", "rspec@1", []summaryLine{
			line(digit, "example", `^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?`,
				func(c *counts, m []string) { totalOf(c, m[1], m[2], m[3]) }),
		}},
		{"minitest", "minitest", "minitest@1", []summaryLine{
			line(digit, " assertions, ", `^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (?:\d+ pendings, \d+ omissions|(\d+) skips)`,
				func(c *counts, m []string) { totalOf(c, m[1], m[2], m[3], m[4]) }),
		}},
		{"phpunit", "phpunit", "phpunit@1", []summaryLine{
			line("O", "OK (", `^OK \((\d+) tests?, `, func(c *counts, m []string) { totalOf(c, m[1]) }),
			line("T", "Assertions: ", `^Tests: (\d+), Assertions: \d+(.*)\.$`,
				func(c *counts, m []string) { c.seen = true; c.total += number(m[1]); tallySettings(c, m[2]) }),
			line("N", "No tests executed", `^No tests executed`, nothing),
		}},
		{"exunit", "exunit", "exunit@1", []summaryLine{
			line(digit, " failure", `^(?:\d+ doctests?, )?(?:\d+ propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(?:, (\d+) (?:excluded|skipped))?`,
				func(c *counts, m []string) { totalOf(c, m[1], m[2], m[3]) }),
		}},
		{"dotnet", "dotnet test", "dotnet_test@1", []summaryLine{
			line("PFS", "Total:", `^\s*(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+\d+, Skipped:\s+(\d+), Total:\s+(\d+)`,
				func(c *counts, m []string) { totalOf(c, m[3], m[1], m[2]) }),
			line("N", "No test is available", `^\s*No test is available`, nothing),
		}},
		{"ctest", "ctest", "ctest@1", []summaryLine{
			line(digit, "tests passed, ", `^\d+% tests passed, (\d+) tests? failed out of (\d+)`,
				func(c *counts, m []string) { totalOf(c, m[2], m[1], "0") }),
			line("N", "No tests were found", `^No tests were found`, nothing),
		}},
		{"deno", "deno test", "deno_test@1", []summaryLine{
			line("oF", " | ", `^(?:ok|FAILED) \| (\d+ passed.*\d+ failed.*)`, tallied),
		}},
		{"bun", "bun test", "bun_test@1", []summaryLine{
			line(digit, " pass", `^ (\d+) pass$`, func(c *counts, m []string) { c.passed += number(m[1]) }),
			line(digit, " fail", `^ (\d+) fail$`, func(c *counts, m []string) { c.failed += number(m[1]) }),
			line(digit, " skip", `^ (\d+) skip$`, func(c *counts, m []string) { c.skipped += number(m[1]) }),
			line("R", " across ", `^Ran \d+ tests? across \d+ files?`, func(c *counts, _ []string) { c.seen = true }),
		}},
	}
})
