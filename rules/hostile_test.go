package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

const packHead = "pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\n"

// hostile is a pack of one rule; the expression begins at 9:7.
func hostile(phase, effect, expr string) string {
	return packHead + "rules:\n- id: r\n  phase: " + phase + "\n  effect: " + effect + "\n  when: |-\n      " + expr + "\n  reason: x\n"
}

// A rule that could be slow, grow without end, differ from run to run or is no condition is refused at load, with its place.
func TestHostileRulesAreRefused(t *testing.T) {
	many := func(n int, sep string, f func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return strings.Join(parts, sep)
	}
	for name, c := range map[string]struct{ expr, want string }{
		"no condition":           {"call.argv.size()", "9:7: r: the expression gives int, want bool"},
		"no type at all":         {"dyn(call).frob", "9:10: r: dyn hides mistakes"},
		"a sum of words":         {"call.name + 1 == 'x'", "9:17: r: found no matching overload"},
		"three loops":            {"call.argv.all(a, call.argv.all(b, call.argv.all(c, a + b == c)))", "9:54: r: comprehension exceeds nesting limit"},
		"two loops over texts":   {"run.stdout.text.split('').exists(a, run.stderr.text.contains(a))", "can cost too much"},
		"two loops over calls":   {"command.calls.all(c, command.calls.all(d, c.argv.all(e, e in d.argv)))", "9:59: r: comprehension exceeds nesting limit"},
		"a loop over all lines":  {"run.stdout.text.split('\\n').all(l, l.contains('x'))", "can cost too much"},
		"a text within a text":   {"run.stdout.text.contains(run.stderr.text)", "can cost too much: "},
		"a long list":            {"call.name in [" + many(2000, ",", func(i int) string { return "'x'" }) + "]", "9:7: r: the expression has 8014 characters, the limit is 4096"},
		"deep":                   {strings.Repeat("!(", 200) + "true" + strings.Repeat(")", 200), "r: expression recursion limit exceeded"},
		"deep brackets":          {strings.Repeat("(", 1500) + "true" + strings.Repeat(")", 1500), "r: "},
		"a map's order":          {"{'a': 1, 'b': 2}.exists(k, k == 'a')", "9:7: r: the order of a map's entries is chance"},
		"a regex bomb":           {"call.name.matches('((a{100}){100}){100}')", "9:25: r: the pattern"},
		"a chain of repetitions": {"call.name.matches('" + many(40, "", func(i int) string { return "a{900}" }) + "')", "9:25: r: the pattern makes a program of about"},
		"a long regex":           {"call.name.matches('" + strings.Repeat("a", 1100) + "')", "9:25: r: the pattern has 1100 bytes"},
		"a regex of the facts":   {"call.name.matches(claim.text)", "9:30: r: the pattern of matches has to be a text that stands there"},
		"an invalid regex":       {"matches(call.name, '(')", "9:26: r: the pattern of matches"},
		"a growing text":         {"call.name.replace('', call.name) == ''", "9:24: r: replace can build a text without end"},
		"a text of texts":        {"call.argv.map(a, claim.text).join('') == ''", "9:24: r: join takes a list of facts"},
		"a time zone":            {"run.started.getHours('Asia/Seoul') == 3", "9:27: r: time zones differ"},
		"a clock":                {"now() > timestamp(0)", "9:10: r: undeclared reference to 'now'"},
		"a made object":          {"dk.Call{name: 'x'}.name == 'x'", "r: a rule reads facts and makes none"},
	} {
		phase, effect := "judge", "fail"
		if strings.Contains(c.expr, "call.") && !strings.Contains(c.expr, "run.") {
			phase, effect = "gate", "deny"
		}
		_, err := rules.ParsePack("p.yaml", []byte(hostile(phase, effect, c.expr)))
		require.ErrorContainsf(t, err, c.want, name)
		var d rules.Diagnostics
		require.ErrorAs(t, err, &d, name)
		require.Positive(t, d[0].Line, name)
	}
}

// Packs that are large rather than clever.
func TestLargePacksAreRefused(t *testing.T) {
	rule := func(i int, when, rest string) string {
		return fmt.Sprintf("- {id: r%d, phase: gate, effect: deny, reason: x, when: %q%s}\n", i, when, rest)
	}
	list := func(n int, when string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(rule(i, when, ""))
		}
		return b.String()
	}
	tests := strings.Repeat("{name: t, facts: {command: x}, want: match}, ", 101)
	for name, c := range map[string]struct{ src, want string }{
		"many rules":        {packHead + "rules:\n" + list(201, "true"), "the pack has 201 rules, the limit is 200"},
		"many tests":        {packHead + "rules:\n" + rule(0, "true", ", tests: ["+tests+"]"), "the rule has 101 tests, the limit is 100"},
		"many variables":    {packHead + "variables:\n" + doubling(101) + "rules:\n" + list(1, "true"), "variables, the limit is 100"},
		"many costly rules": {packHead + "rules:\n" + list(150, "command.calls.all(c, c.argv.all(a, a != claim.verify && a != claim.cwd && a != claim.id))"), "the rules of the pack together can cost too much"},
		"many bytes":        {packHead + "rules:\n" + strings.Repeat("# x\n", 100_000), "bytes, the limit is"},
		"a billion laughs":  {packHead + "params: &a {x: [a]}\nrules:\n" + list(1, "true"), "anchors and aliases are not allowed"},
		"deep yaml":         {packHead + "params: " + strings.Repeat("[", 20_000), ""},
	} {
		_, err := rules.ParsePack("p.yaml", []byte(c.src))
		require.ErrorContainsf(t, err, c.want, name)
	}
}

// What can only be seen at run time denies: in a rule that allows as well as in one that denies.
func TestRuntimeErrorsDeny(t *testing.T) {
	for _, expr := range []string{
		"call.argv[7] == 'x'", "has(claim.expect.file) || claim.expect.file.path == ''", "claim.expect.tests_passed / (call.argv.size() - 2) == 1",
		"int(call.name) == 1", "call.argv.size() / 0 == 1", "variables.bad", "timestamp(call.name) == timestamp(0)",
	} {
		for _, effect := range []string{"deny", "allow"} {
			src := packHead + "variables:\n- {name: bad, expr: 'int(claim.text) == 1'}\nrules:\n" +
				"- {id: open, phase: gate, effect: allow, reason: x, when: 'true'}\n" +
				fmt.Sprintf("- {id: r, phase: gate, effect: %s, reason: x, when: %q}\n", effect, expr)
			p, err := rules.ParsePack("p.yaml", []byte(src))
			require.NoError(t, err, expr)
			d := set(t, p).Gate(factsOf("test", "go vet", ""))
			require.Falsef(t, d.Allow, "%s %s", effect, expr)
			require.Equal(t, "rule_error", d.Reason, expr)
			require.Contains(t, d.Why, "rule r could not decide")
		}
	}
}

// A claim cannot make the judge compare without end.
func TestManyExpectationsAreNotUnderstood(t *testing.T) {
	texts := strings.Repeat(`"a",`, 5000) + `"a"`
	f := factsOf("test", "go vet", `{"output_contains":[`+texts+`]}`)
	j := set(t, rules.DefaultPacks()...).Judge(f.With(events.Run{Check: "command"}))
	require.Equal(t, events.Unrunnable, j.Verdict)
	require.Equal(t, "expect_not_understood", j.Reason)
}
