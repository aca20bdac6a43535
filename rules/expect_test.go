package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

func factsOf(kind, verify, expect string) rules.Facts {
	return rules.NewFacts(events.Claim{ClaimID: "t1", Text: "x", Kind: kind, Verify: verify, Expect: json.RawMessage(expect)}, "")
}

// What an expectation says, and that nothing is guessed.
func TestExpect(t *testing.T) {
	for _, c := range []struct{ kind, verify, expect, want string }{
		{"test", "go test", ``, `{"understood":true,"exit":0}`},
		{"test", "go test", `null`, `{"understood":true,"exit":0}`},
		{"test", "go test", `0`, `{"understood":true,"exit":0}`},
		{"command", "go test", `3`, `{"understood":true,"exit":3}`},
		{"test", "go test", `"exit 1"`, `{"understood":true,"exit":1}`},
		{"test", "go test", `" 0 "`, `{"understood":true,"exit":0}`},
		{"test", "go test", `""`, `{"understood":true,"exit":0}`},
		{"command", "x", `"contains: ok"`, `{"understood":true,"exit":0,"output":[{"what":"output_contains","want":"ok"}]}`},
		{"test", "x", `"contains: ok"`, `{"understood":true,"exit":0,"output":[{"what":"output_contains","want":"ok"}]}`},
		{"command", "x", `"matches: ^ok$"`, `{"understood":true,"exit":0,"output":[{"what":"output_matches","want":"^ok$"}]}`},
		{"command", "x", `{"exit":2,"stderr_contains":["a","b"]}`, `{"understood":true,"exit":2,"output":[{"what":"stderr_contains","want":"a"},{"what":"stderr_contains","want":"b"}]}`},
		{"test", "x", `{"min_tests":3}`, `{"understood":true,"exit":0,"min_tests":3}`},
		{"command", "make", `{"file":"out.txt","min_bytes":1}`, `{"understood":true,"exit":0,"file":{"path":"out.txt","exists":true,"min_bytes":1,"place":"repo"}}`},
		{"file", "a.md", `"exists"`, `{"understood":true,"file":{"path":"a.md","exists":true,"place":"repo"}}`},
		{"file", "a.md", `"absent"`, `{"understood":true,"file":{"path":"a.md","exists":false,"place":"repo"}}`},
		{"file", "a.md", `"contains: hi"`, `{"understood":true,"file":{"path":"a.md","exists":true,"contains":"hi","place":"repo"}}`},
		{"file", "scripts/run.sh", ``, `{"understood":true,"file":{"path":"scripts/run.sh","exists":true,"place":"repo"}}`},
		{"file", "test -s a.md", ``, `{"understood":true,"file":{"path":"a.md","exists":true,"min_bytes":1,"place":"repo"}}`},
		{"file", "test ! -e a.md", ``, `{"understood":true,"file":{"path":"a.md","exists":false,"place":"repo"}}`},
		{"file", "[ -d docs ]", ``, `{"understood":true,"file":{"path":"docs","exists":true,"type":"dir","place":"repo"}}`},
		{"file", "test -f a.md", `"absent"`, `{"understood":true,"file":{"path":"a.md","exists":false,"type":"file","place":"repo"}}`},
		{"file", "grep -q x a.md", ``, `{"understood":true,"exit":0}`},
	} {
		f := factsOf(c.kind, c.verify, c.expect)
		got, err := json.Marshal(f.Claim.Expect)
		require.NoError(t, err)
		require.JSONEqf(t, c.want, string(got), "%s %s %s", c.kind, c.verify, c.expect)
	}
}

func TestExpectNotUnderstood(t *testing.T) {
	for _, expect := range []string{
		`"success"`, `"0 failures"`, `"all tests pass"`, `"exit zero"`, `"contains:"`, `"matches: ("`, `true`, `1.5`, `[0]`, `{}`,
		`{"exit":"0"}`, `{"exit_code":0}`, `{"stdout_contains":""}`, `{"output_matches":"("}`, `{"stdout_contains":[1]}`,
		`{"file":"a","matches":"("}`, `{"file":"a","sha256":"12"}`, `{"output_matches":"(a?){900}b$"}`, `"exists"`, `{"exists":true}`,
	} {
		f := factsOf("command", "make check", expect)
		require.Falsef(t, f.Claim.Expect.Understood, "%s", expect)
		require.NotEmptyf(t, f.Claim.Expect.Problem, "%s", expect)
	}
	require.False(t, factsOf("file", "", "").Claim.Expect.Understood, "a file claim names a path")
}

// A file claim is looked at by the store only when nothing but a look at that path is asked for.
func TestFileChecksRunNothing(t *testing.T) {
	for verify, want := range map[string]string{
		"a.md": rules.CheckFile, "docs/a.md": rules.CheckFile, "LICENSE": rules.CheckFile, "test -f a.md": rules.CheckFile,
		"ls a.md": rules.CheckFile, "cat a.md": rules.CheckFile, "": rules.CheckFile, "./run.sh": rules.CheckFile,
		"! test -f a.md": rules.CheckCommand, "ls *.md": rules.CheckCommand, "ls -la a.md": rules.CheckCommand,
		"test -f a.md && test -f b.md": rules.CheckCommand, "test -f a.md || true": rules.CheckCommand,
		"grep -q x a.md": rules.CheckCommand, "rm a.md": rules.CheckCommand, "cat a.md > b.md": rules.CheckCommand,
	} {
		f := factsOf("file", verify, `{"file":"a.md"}`)
		require.Equalf(t, want, f.Claim.Check, "%q", verify)
	}
	for verify, expect := range map[string]string{
		"cat a.md": `"contains: x"`, "test -e a.md": `1`, "ls a.md": `{"file":"a.md","output_contains":"a"}`, "go test ./...": `{"file":"go.mod"}`,
	} {
		f := factsOf("file", verify, strings.Replace(expect, `"contains: x"`, `{"file":"a.md","output_contains":"x"}`, 1))
		require.Equalf(t, rules.CheckCommand, f.Claim.Check, "%s %s: something else is asked than what the path holds", verify, expect)
		require.NotNil(t, f.Claim.Expect.Exit)
	}
	require.False(t, factsOf("file", "a.md", "1").Claim.Expect.Understood, "a path has no exit status")
	require.Equal(t, rules.CheckCommand, factsOf("command", "./run.sh", `{"file":"a.md"}`).Claim.Check, "a command is no path")
	require.Equal(t, rules.CheckCommand, factsOf("command", "run.sh", `{"file":"a.md"}`).Claim.Check)
}

// What is no command cannot be a dangerous one: whatever else such a claim says, it is not understood, and not refused.
func TestNoCommandIsNeverUnsafe(t *testing.T) {
	set := set(t, rules.DefaultPacks()...)
	for _, verify := range []string{"", "  \n", "docs/a.md", "./run.sh", "rm.md"} {
		for _, expect := range []string{
			``, `"success"`, `{"path":"a.md"}`, `{"exists":true}`, `1`, `{"file":"a.md","output_contains":"x"}`, `{"min_tests":1}`, `"exists"`,
		} {
			f := factsOf("file", verify, expect)
			require.Truef(t, set.Gate(f).Allow, "%q %s", verify, expect)
			require.Nil(t, f.Command.Plan)
			if !f.Claim.Expect.Understood {
				j := set.Judge(f.With(events.Run{}))
				require.Equalf(t, events.Unrunnable, j.Verdict, "%q %s", verify, expect)
				require.Equal(t, "expect_not_understood", j.Reason)
			}
		}
	}
	require.False(t, factsOf("file", "docs/a.md", `{"file":"docs/a.md","output_contains":"x"}`).Claim.Expect.Understood)
}

func FuzzExpect(f *testing.F) {
	for _, s := range []string{`0`, `"exit 1"`, `{"exit":0,"file":"a"}`, `"matches: a{900}b{900}"`, `{`, `"contains: \u0000"`} {
		f.Add("test", "go test", s)
	}
	f.Fuzz(func(t *testing.T, kind, verify, expect string) {
		if !json.Valid([]byte(expect)) {
			return // a claim's expectation is part of strict JSON
		}
		facts := factsOf(kind, verify, expect)
		e := facts.Claim.Expect
		require.NotEqual(t, e.Understood, e.Problem != "", "either it is understood, or it is said why not")
		raw, digest, err := facts.Encode()
		require.NoError(t, err)
		again, err := rules.DecodeFacts(raw)
		require.NoError(t, err)
		_, digest2, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, digest, digest2, "recorded facts read back the same")
	})
}
