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
	case wantMatch, wantNoMatch, wantError:
	default:
		return bad("want: %q is none of match, no-match, error", t.Want)
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
	got, err = r.try(p, f)
	if err != nil {
		return wantError, err.Error()
	}
	return got, ""
}

// try evaluates one rule: it matches when it matches any call.
func (r *Rule) try(p *Pack, f Facts) (string, error) {
	if !r.appliesTo(f.Claim.Kind) {
		return wantNoMatch, nil
	}
	fr := newFrame(p, factsObject(&f))
	calls := fr.calls()
	if !r.when.usesCall && (r.applies == nil || !r.applies.usesCall) {
		calls = nil
		calls = append(calls, nil)
	}
	for _, call := range calls {
		fr.look(call)
		what, _, err := r.evaluate(fr)
		if err != nil {
			return wantError, err
		}
		if what == OutcomeMatch {
			return wantMatch, nil
		}
	}
	return wantNoMatch, nil
}

// Untested lists the rules that lack a test that matches or one that does not.
func (p *Pack) Untested() []string {
	var ids []string
	for _, r := range p.Rules {
		var match, noMatch bool
		for _, t := range r.Tests {
			match = match || t.Want == wantMatch
			noMatch = noMatch || t.Want == wantNoMatch
		}
		if !match || !noMatch {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
