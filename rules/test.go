package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// Outcomes a test may want.
const (
	wantMatch   = "match"
	wantNoMatch = "no-match"
	wantSkipped = "skipped" // the rule itself, or its kinds, say that it is not about such a claim
	wantError   = "error"

	badFacts = "unusable facts" // what a test gives whose facts cannot be built; no test can want it
)

// readTest reads a test. Its facts are built when it is run: loading a pack does not analyse the commands of its tests.
func (c *compiler) readTest(rule string, tf testFile) (Test, bool) {
	t := Test{Name: tf.Name.Text, Want: tf.Want.Text, line: tf.Name.Line}
	bad := func(format string, args ...any) (Test, bool) {
		c.d.add(max(tf.Name.Line, tf.Facts.Line), 1, rule, "test %q: "+format, append([]any{t.Name}, args...)...)
		return t, false
	}
	switch t.Want {
	case wantMatch, wantNoMatch, wantSkipped, wantError:
	default:
		return bad("want: %q is none of match, no-match, skipped, error", t.Want)
	}
	if tf.Facts.Kind == 0 {
		return bad("facts are missing")
	}
	if err := tf.Facts.Decode(&t.yaml); err != nil {
		return bad("%v", err)
	}
	return t, true
}

// facts builds the facts of a test: those of a claim of kind test with the given command, the rest as given. A command
// that is a text goes through the real analyser, with the files of the project that "scripts" gives by path.
func (t Test) facts() (Facts, error) {
	given := maps.Clone(t.yaml)
	claim, err := givenClaim(given)
	if err != nil {
		return Facts{}, err
	}
	if text, ok := given["command"].(string); ok {
		claim.Verify = text
		delete(given, "command")
	}
	files, err := givenScripts(given)
	if err != nil {
		return Facts{}, err
	}
	f := NewFactsWith(claim, "", func(path string) shell.File { return files[path] })
	if m, ok := given["command"].(map[string]any); ok && m["calls"] != nil {
		f.Command.Calls = nil // JSON would fill in the calls that are there
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return f, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, fmt.Errorf("facts: %w", err)
	}
	if f.Run != nil && f.Files == nil {
		f.Files = f.Run.Files
	}
	return f, nil
}

// givenScripts takes the files of the project out of given. A project of which no files are given has none.
func givenScripts(given map[string]any) (shell.Files, error) {
	files := shell.Files{}
	list, ok := given["scripts"].(map[string]any)
	if !ok && given["scripts"] != nil {
		return nil, errors.New("facts: scripts: not files by path")
	}
	for path, v := range list {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("facts: scripts: %s is no text", path)
		}
		files[path] = shell.File{Text: []byte(text)}
	}
	delete(given, "scripts")
	return files, nil
}

// givenClaim makes the claim that facts are derived from. An expectation as a marker has it is taken out of given and goes
// through the real reader.
func givenClaim(given map[string]any) (events.Claim, error) {
	claim := events.Claim{ClaimID: "t1", Text: "as claimed", Kind: "test", Verify: "true"}
	m, ok := given["claim"].(map[string]any)
	if !ok {
		return claim, nil
	}
	if k, ok := m["kind"].(string); ok {
		claim.Kind = k
	}
	if v, ok := m["verify"].(string); ok {
		claim.Verify = v
	}
	expect, ok := m["expect"]
	if !ok || isExpectForm(expect) {
		return claim, nil
	}
	rest := maps.Clone(m)
	delete(rest, "expect")
	given["claim"] = rest
	var err error
	claim.Expect, err = json.Marshal(expect)
	return claim, err
}

// isExpectForm reports whether e is the form of a marker's expect that was already read.
func isExpectForm(e any) bool {
	m, ok := e.(map[string]any)
	_, understood := m["understood"]
	return ok && understood
}

// A TestResult is one test that was run.
type TestResult struct {
	Rule string `json:"rule"`
	Test string `json:"test"`
	Line int    `json:"line"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Err  string `json:"error,omitempty"`
}

// OK reports whether the test passed.
func (r TestResult) OK() bool { return r.Want == r.Got }

// RunTests runs every test of the pack.
func (p *Pack) RunTests() []TestResult {
	var out []TestResult
	for _, r := range p.Rules {
		for _, t := range r.Tests {
			res := TestResult{Rule: r.ID, Test: t.Name, Line: t.line, Want: t.Want}
			res.Got, res.Err = t.run(p, r)
			out = append(out, res)
		}
	}
	return out
}

func (t Test) run(p *Pack, r *Rule) (got, problem string) {
	f, err := t.facts()
	if err != nil {
		return badFacts, err.Error()
	}
	got, err = r.try(newFrame(p, factsObject(&f)), f.Claim.Kind)
	if err != nil {
		return wantError, err.Error()
	}
	return got, ""
}

// usesCall reports whether r is evaluated for each simple command.
func (r *Rule) usesCall() bool {
	return r.when.usesCall || (r.applies != nil && r.applies.usesCall)
}

// try evaluates one rule: it matches when it matches any call, and is skipped when it is for each of them.
func (r *Rule) try(f *frame, kind string) (string, error) {
	got := wantSkipped
	if !r.appliesTo(kind) {
		return got, nil
	}
	looks := f.looks(r)
	if len(looks) == 0 {
		got = wantNoMatch
	}
	for _, n := range looks {
		f.lookAt(n)
		what, skipped, err := r.evaluate(f)
		if err != nil {
			return wantError, err
		}
		if what == OutcomeMatch {
			return wantMatch, nil
		}
		if !skipped {
			got = wantNoMatch
		}
	}
	return got, nil
}

// Untested lists the rules that lack a test that matches or one that does not.
func (p *Pack) Untested() Diagnostics {
	d := &diagnoser{file: p.file}
	for _, r := range p.Rules {
		wants := make(map[string]bool)
		for _, t := range r.Tests {
			wants[t.Want] = true
		}
		for _, want := range []string{wantMatch, wantNoMatch} {
			if !wants[want] {
				d.add(r.Line, r.Col, r.ID, "no test with want: %s; give it one that matches and one that does not", want)
			}
		}
	}
	return d.list
}

// TestFacts returns the facts of every test in the pack.
func (p *Pack) TestFacts() []Facts {
	var out []Facts
	for _, r := range p.Rules {
		for _, t := range r.Tests {
			if f, err := t.facts(); err == nil {
				out = append(out, f)
			}
		}
	}
	return out
}

// A Trial is one rule over the facts of its own tests, made ready, so that evaluating can be timed alone.
type Trial struct {
	Rule        string
	Evaluations int    // of one Do
	Do          func() // for one goroutine
}

// Trials returns a trial of each rule that has tests.
func (p *Pack) Trials() []Trial {
	beds := p.beds()
	var out []Trial
	for _, r := range p.Rules {
		if len(beds[r]) > 0 {
			t := Trial{Rule: r.ID}
			for _, b := range beds[r] {
				t.Evaluations += len(newFrame(p, b.facts).looks(r))
			}
			t.Do = func() {
				for _, b := range beds[r] {
					_, _ = r.try(newFrame(p, b.facts), b.kind)
				}
			}
			out = append(out, t)
		}
	}
	return out
}
