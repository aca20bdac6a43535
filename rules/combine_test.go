package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

// pack makes a pack of rules given as "phase effect expression".
func pack(t require.TestingT, name string, lines ...string) *rules.Pack {
	var b strings.Builder
	fmt.Fprintf(&b, "pack: test/%s\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n", name)
	for i, line := range lines {
		f := strings.SplitN(line, " ", 3)
		fmt.Fprintf(&b, "  - {id: %s.r%d, phase: %s, effect: %s, reason: r%d, when: %q}\n", name, i, f[0], f[1], i, f[2])
	}
	p, err := rules.ParsePack(name+".yaml", []byte(b.String()))
	require.NoError(t, err)
	return p
}

func set(t require.TestingT, packs ...*rules.Pack) *rules.Ruleset {
	s, err := rules.NewRuleset(packs...)
	require.NoError(t, err)
	return s
}

func TestGateCombines(t *testing.T) {
	const errs = "command.calls[99].name == 'x'"
	for _, c := range []struct {
		name, command string
		rules         []string
		allow         bool
		reason        string
	}{
		{"nothing allows", "go vet", []string{"gate deny call.name == 'rm'"}, false, "no_allow"},
		{"allowed", "go vet", []string{"gate allow call.name == 'go'"}, true, "allowed"},
		{"each command needs one", "go vet && make x", []string{"gate allow call.name == 'go'"}, false, "no_allow"},
		{"each has one", "go vet && make x", []string{"gate allow call.name == 'go'", "gate allow call.name == 'make'"}, true, "allowed"},
		{"one for the whole", "go vet && make x", []string{"gate allow command.calls.size() == 2"}, true, "allowed"},
		{"deny overrides", "go vet", []string{"gate allow true", "gate deny call.name == 'go'"}, false, "r1"},
		{"deny overrides, in any order", "go vet", []string{"gate deny call.name == 'go'", "gate allow true"}, false, "r0"},
		{"an error refuses", "go vet", []string{"gate allow true", "gate deny " + errs}, false, "rule_error"},
		{"an error in an allow refuses, too", "go vet", []string{"gate allow true", "gate allow " + errs}, false, "rule_error"},
		{"a deny is the better reason", "go vet", []string{"gate deny " + errs, "gate deny true"}, false, "r1"},
		{"what is not understood is refused whatever is allowed", "for x in a; do go vet; done", []string{"gate allow true"}, false, "loop"},
		{"and so is an empty command", "", []string{"gate allow true"}, false, ""},
	} {
		d := set(t, pack(t, "p", c.rules...)).Gate(factsOf("command", c.command, ""))
		require.Equalf(t, c.allow, d.Allow, "%s: %+v", c.name, d)
		if c.reason != "" {
			require.Equalf(t, c.reason, d.Reason, "%s: %+v", c.name, d)
		}
		require.NotEmptyf(t, d.Why, c.name)
	}
	require.False(t, rules.Decision{}.Allow, "the zero decision refuses")
	require.False(t, rules.Judgement{}.Verdict.Valid(), "the zero judgement is no verdict")
}

func TestJudgeCombines(t *testing.T) {
	const errs = "run.tests.failed > 0" // not recorded
	for _, c := range []struct {
		name    string
		rules   []string
		verdict events.Verdict
		reason  string
	}{
		{"no require", []string{"judge fail run.exit == 1"}, events.Unrunnable, "no_evidence_required"},
		{"met", []string{"judge require run.exit == 0"}, events.Verified, "as_claimed"},
		{"not met", []string{"judge require run.exit == 1"}, events.Failed, "r0"},
		{"fail wins over met", []string{"judge require run.exit == 0", "judge fail run.exit == 0"}, events.Failed, "r1"},
		{"an error never verifies", []string{"judge require run.exit == 0", "judge require " + errs}, events.Unrunnable, "rule_error"},
		{"an error hides no failure", []string{"judge require " + errs, "judge fail run.exit == 0"}, events.Failed, "r1"},
		{"no evidence is no accusation", []string{"judge fail run.exit == 0", "judge inconclusive run.exit == 0"}, events.Unrunnable, "r1"},
	} {
		j := set(t, pack(t, "p", c.rules...)).Judge(factsOf("command", "go vet", "").With(events.Run{Check: "command"}))
		require.Equalf(t, c.verdict, j.Verdict, "%s: %+v", c.name, j)
		require.Equalf(t, c.reason, j.Reason, "%s: %+v", c.name, j)
	}
}

// A run that did not end is unrunnable under any rules.
func TestIncompleteRunIsNeverJudged(t *testing.T) {
	s := set(t, pack(t, "p", "judge require run.exit == 0", "judge fail run.exit == 0"))
	f := factsOf("command", "go vet", "")
	require.Equal(t, "timeout", s.Judge(f.With(events.Run{Problem: "timeout"})).Reason)
	require.Equal(t, events.Unrunnable, s.Judge(f).Verdict, "no run at all")
	require.Equal(t, "expect_not_understood", s.Judge(factsOf("command", "go vet", `"success"`).With(events.Run{})).Reason)
}

// Adding rules that tighten never turns a refusal into an allow, or a failure or an error into "verified".
func TestTighteningIsMonotone(t *testing.T) {
	exprs := []string{"true", "false", "run.tests.failed > 0", "run.exit == 0", "run.exit == 1"}
	gates := []string{"true", "false", "command.calls[9].name == 'x'", "call.name == 'go'", "call.name == 'tail'"}
	rapid.Check(t, func(rt *rapid.T) {
		var base, more []string
		for range rapid.IntRange(1, 4).Draw(rt, "n") {
			base = append(base, "judge "+rapid.SampledFrom([]string{"require", "fail"}).Draw(rt, "effect")+" "+rapid.SampledFrom(exprs).Draw(rt, "when")+" && run.exit >= 0",
				"gate "+rapid.SampledFrom([]string{"allow", "deny"}).Draw(rt, "gate")+" "+rapid.SampledFrom(gates).Draw(rt, "gwhen"))
		}
		more = append(more, "judge "+rapid.SampledFrom([]string{"require", "fail"}).Draw(rt, "m")+" "+rapid.SampledFrom(exprs).Draw(rt, "mw")+" && run.exit >= 0",
			"gate deny "+rapid.SampledFrom(gates).Draw(rt, "mg"))
		f := factsOf("command", "go vet ./... | tail", "").With(events.Run{Check: "command"})
		was, is := set(t, pack(t, "a", base...)), set(t, pack(t, "a", base...), pack(t, "b", more...))
		if !was.Gate(f).Allow {
			require.False(t, is.Gate(f).Allow)
		}
		if was.Judge(f).Verdict == events.Failed {
			require.Equal(t, events.Failed, is.Judge(f).Verdict, "a failure stays one")
		}
		if v := was.Judge(f); v.Verdict == events.Unrunnable && v.Reason == "rule_error" {
			require.NotEqual(t, events.Verified, is.Judge(f).Verdict)
		}
	})
}

// The same facts give the same decision, explanations included, as often as one likes.
func TestDecisionsAreDeterministic(t *testing.T) {
	s := set(t, rules.DefaultPacks()...)
	for _, command := range []string{"go test ./... 2>&1 | tail -5", "rm -rf x && cat .env; sudo make", "cat <<E\nx\nE"} {
		first := s.Gate(factsOf("test", command, ""))
		for range 20 {
			require.Equal(t, first, s.Gate(factsOf("test", command, "")))
		}
	}
}

func TestFaultsHavePlaces(t *testing.T) {
	for src, want := range map[string]string{
		"":                 "1:1: the file is empty",
		"pack: x\npack: y": "2:1: mapping key \"pack\" already defined at line 1",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nnonsense: 1\nrules: []":                                                                                                                         "4:1: field nonsense not found",
		"pack: a/b\nversion: one\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: allow, reason: x, when: 'true'}":                                                                           `2:10: version: "one" is no version`,
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v9\nrules:\n- {id: r, phase: gate, effect: allow, reason: x, when: 'true'}":                                                                         "3:8: facts: ",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- &a {id: r, phase: gate, effect: allow, reason: x, when: 'true'}\n- *a":                                                                "anchors and aliases are not allowed",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: fail, reason: x, when: 'true'}":                                                                          `effect: "fail" is none of allow, deny`,
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'run.exit == 0'}":                                                                 "the gate decides before anything ran",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'params.nope'}":                                                                   "undefined field 'nope'",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'claim.text.matches(\"(\")'}":                                                     "matches",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nvariables:\n" + doubling(20) + "rules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'true'}":                                          "a text without end",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'claim.text.replace(\"a\", \"aa\") == \"\"'}":                                     "replace",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'now() > 0'}":                                                                     "undeclared reference to 'now'",
		"pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nvariables:\n- {name: a, expr: 'variables.b'}\n- {name: b, expr: 'true'}\nrules:\n- {id: r, phase: gate, effect: deny, reason: x, when: 'true'}": "undefined field 'b'",
	} {
		_, err := rules.ParsePack("p.yaml", []byte(src))
		require.ErrorContainsf(t, err, want, "%s", src)
		var d rules.Diagnostics
		require.ErrorAs(t, err, &d)
		require.Positive(t, d[0].Line)
		require.Positive(t, d[0].Col)
	}
}

// doubling makes variables each of which is the one before twice.
func doubling(n int) string {
	text := "- {name: v0, expr: claim.text}\n"
	for i := range n {
		text += fmt.Sprintf("- {name: v%d, expr: 'variables.v%d + variables.v%d'}\n", i+1, i, i)
	}
	return text
}

func FuzzParsePack(f *testing.F) {
	for _, p := range rules.DefaultPacks() {
		f.Add(p.Source)
	}
	f.Add("pack: a/b\nversion: 1.0.0\nfacts: dk.facts/v1\nrules: [{id: r, phase: gate, effect: allow, reason: x, when: 'true'}]")
	f.Fuzz(func(t *testing.T, src string) {
		p, err := rules.ParsePack("p.yaml", []byte(src))
		if err == nil {
			require.NotEmpty(t, p.Digest)
			p.RunTests()
			p.Lint()
			if len(p.Rules) > 3 {
				return // slow, and nothing new
			}
			_, err := p.Coverage()
			require.NoError(t, err)
			_, err = p.Mutants()
			require.NoError(t, err)
		}
	})
}
