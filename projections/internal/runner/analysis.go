package runner

import (
	"path"
	"slices"
	"strings"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// An extractor reads the lines of one kind of test runner and counts while they stream by. Its name carries a version:
// what it makes of the same output changes with that only.
type extractor interface {
	line(line []byte)
	// facts is nil when nothing in the output came from such a runner.
	facts() *events.Tests
}

// An analysis sees the lines of what was checked, without terminal control, and keeps the few facts in them. It is used
// by one goroutine at a time.
type analysis struct {
	unwrap     goJSON
	extractors []extractor
	summaries  summaryReader
	lights     highlighter
}

// newAnalysis makes one with the extractors for the runners that a plan calls, or with all where that cannot be told.
func newAnalysis(p *shell.Plan) *analysis {
	a := new(analysis)
	runners := runnersOf(p)
	wanted := func(name string) bool { return runners == nil || slices.Contains(runners, name) }
	if wanted("go") {
		a.extractors = append(a.extractors, new(goTest))
	}
	if wanted("tap") {
		a.extractors = append(a.extractors, new(tapTest))
	}
	for _, kind := range summaryKinds() {
		if wanted(kind.runner) {
			a.summaries.add(kind)
		}
	}
	return a
}

func (a *analysis) line(line []byte) {
	if inner, ok := a.unwrap.line(line); ok {
		line = inner
	}
	for _, e := range a.extractors {
		e.line(line)
	}
	a.summaries.line(line)
	a.lights.line(line)
}

// tests gives the facts of all runners that were seen, added up: `go test ./... && npm test` is one check.
func (a *analysis) tests() *events.Tests {
	var sum *events.Tests
	add := func(t *events.Tests) {
		switch {
		case t == nil:
		case sum == nil:
			sum = t
		default:
			addTests(sum, t)
		}
	}
	for _, e := range a.extractors {
		t := e.facts()
		if t != nil && t.Framework == "go test" && a.unwrap.seen {
			t.Extractor = "go_test_json@1"
		}
		add(t)
	}
	for _, t := range a.summaries.tests {
		add(t.facts())
	}
	return sum
}

func addTests(sum, t *events.Tests) {
	sum.Framework += " + " + t.Framework
	sum.Extractor += " + " + t.Extractor
	sum.Run += t.Run
	sum.Passed += t.Passed
	sum.Failed += t.Failed
	sum.Skipped += t.Skipped
	sum.Cached += t.Cached
	sum.Counted = sum.Counted && t.Counted
	sum.None = sum.None && t.None
}

func (a *analysis) highlights(r *redactor) []string { return a.lights.best(r) }

// runnersOf names the test runners that the commands of a plan call, as far as their arguments tell. nil is any: a
// script can call whatever it likes, and then only the output tells.
func runnersOf(p *shell.Plan) []string {
	names := []string{}
	checks := holdsChecks(p)
	for _, x := range execs(p) {
		if x.Builtin != "" || checks && !x.Checks {
			continue
		}
		found, known := runnerOf(literals(x.Argv))
		if !known {
			return nil
		}
		names = append(names, found...)
	}
	return names
}

func literals(words []shell.Word) []string {
	var out []string
	for _, w := range words {
		var b strings.Builder
		for _, p := range w {
			b.WriteString(p.Text)
		}
		out = append(out, b.String())
	}
	return out
}

// runnerOf looks for a test runner among the first words, behind wrappers such as `timeout 60` and `npx`.
func runnerOf(argv []string) (names []string, known bool) {
	for i, word := range argv[:min(len(argv), 8)] {
		rest := argv[i+1:]
		name := path.Base(word)
		switch {
		case name == "go" && len(rest) > 0:
			switch rest[0] {
			case "test":
				return []string{"go"}, true
			case "build", "vet", "fmt", "list", "mod", "version", "env":
				return nil, true
			}
			return nil, false
		case name == "gotestsum":
			return []string{"go"}, true
		case name == "cargo" && len(rest) > 0:
			switch {
			case slices.Contains(rest, "nextest"):
				return []string{"nextest"}, true
			case slices.Contains(rest, "test"), slices.Contains(rest, "t"):
				return []string{"cargo"}, true
			}
			return nil, slices.Contains([]string{"build", "check", "clippy", "fmt", "b", "c"}, rest[0])
		case name == "node" && slices.Contains(rest, "--test"):
			return []string{"tap"}, true
		case strings.HasPrefix(name, "python") && len(rest) > 1 && rest[0] == "-m":
			switch rest[1] {
			case "pytest", "unittest":
				return []string{rest[1]}, true
			}
			return nil, false
		case name == "py.test":
			return []string{"pytest"}, true
		case name == "mvn" || name == "mvnw":
			return []string{"maven"}, true
		case name == "gradle" || name == "gradlew":
			return []string{"gradle"}, true
		case slices.Contains([]string{"pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest"}, name):
			return []string{name}, true
		}
	}
	return nil, false
}
