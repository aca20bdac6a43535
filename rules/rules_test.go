package rules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules"
)

func TestDefaultPacks(t *testing.T) {
	for _, p := range rules.DefaultPacks() {
		for _, res := range p.RunTests() {
			if !res.OK() {
				t.Errorf("%s: %s: test %q, line %d: want %s, got %s %s", p.Name, res.Rule, res.Test, res.Line, res.Want, res.Got, res.Err)
			}
		}
		require.Empty(t, p.Untested(), "every rule has a test that matches and one that does not")
		require.Empty(t, p.Lint())
	}
}

// The tests of the default packs see every outcome of every part of a rule, and notice every change of one.
func TestDefaultPacksAreWhollyTested(t *testing.T) {
	for _, p := range rules.DefaultPacks() {
		all, err := p.Coverage()
		require.NoError(t, err)
		for _, c := range all {
			require.Emptyf(t, c.Missing, "%s: %s", p.Name, c.Name)
			require.Equal(t, 1000, c.PerMille())
		}
		mutants, err := p.Mutants()
		require.NoError(t, err)
		require.NotEmpty(t, mutants)
		for _, m := range mutants {
			require.Truef(t, m.Killed, "%s:%d:%d: %s: no test notices: %s", p.Name, m.Line, m.Col, m.Name, m.Change)
		}
	}
}

// What is left out is found, with its place, and never rounded up.
func TestCoverageAndMutants(t *testing.T) {
	const src = `pack: a/b
version: 1.0.0
facts: dk.facts/v1
rules:
  - id: r
    phase: gate
    effect: deny
    when: >-
      call.name == 'make'
      && !(call.argv.exists(a, a == 'check')
           || call.class == 'check')
    reason: x
    tests:
      - {name: clean, facts: {command: make clean}, want: match}
      - {name: go, facts: {command: go vet}, want: no-match}
`
	p, err := rules.ParsePack("p.yaml", []byte(src))
	require.NoError(t, err)
	all, err := p.Coverage()
	require.NoError(t, err)
	require.Len(t, all, 1)
	var gaps []string
	for _, g := range all[0].Missing {
		gaps = append(gaps, fmt.Sprintf("%d:%d %s %t", g.Line, g.Col, g.Expr, g.Outcome))
	}
	require.Equal(t, []string{
		`10:12 call.argv.exists(a, a == "check") true`,
		`10:32 a == "check" true`,
	}, gaps)
	require.Equal(t, 857, all[0].PerMille())
	require.Equal(t, 999, rules.Coverage{Wanted: 100_000, Seen: 99_999}.PerMille())

	mutants, err := p.Mutants()
	require.NoError(t, err)
	survived := make(map[string]bool)
	for _, m := range mutants {
		if !m.Killed {
			survived[fmt.Sprintf("%d:%d %s", m.Line, m.Col, m.Change)] = true
		}
	}
	require.Contains(t, survived, `10:12 without the operand call.argv.exists(a, a == "check")`)
	require.NotContains(t, survived, `9:7 the sign of call.name == "make" made !=`)
}

// An explanation is the smallest part that decided, with the values it read.
func TestWhy(t *testing.T) {
	const src = `pack: a/b
version: 1.0.0
facts: dk.facts/v1
params: {tools: [make, just]}
variables:
  - {name: ours, expr: "call.name in params.tools"}
rules:
  - id: r
    phase: gate
    effect: deny
    when: variables.ours && call.argv.exists(a, a.startsWith('d')) && has(claim.expect.file)
    reason: x
  - {id: err, phase: gate, effect: deny, reason: x, when: "call.argv[7] == 'x' && call.name == 'make'"}
  - {id: other, phase: gate, effect: deny, reason: x, kinds: [lint], when: "true"}
`
	p, err := rules.ParsePack("p.yaml", []byte(src))
	require.NoError(t, err)
	s := set(t, p)
	steps := func(rule, command string) []string {
		found, err := s.Why(rule, factsOf("test", command, ""))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		out := []string{found[0].Outcome}
		for _, st := range found[0].Steps {
			out = append(out, fmt.Sprintf("%d:%d %s = %s", st.Line, st.Col, st.Expr, st.Value))
		}
		return out
	}
	require.Equal(t, []string{
		"no_match", "11:11 variables.ours = false", `6:25 call.name in params.tools = false`, `6:25 call.name = "go"`,
	}, steps("r", "go vet"))
	require.Equal(t, []string{
		"no_match", `11:29 call.argv.exists(a, a.startsWith("d")) = false`, `11:29 call.argv = ["make", "check"]`,
	}, steps("r", "make check"))
	require.Equal(t, []string{"no_match", "11:74 has(claim.expect.file) = false"}, steps("r", "make dist"))
	require.Contains(t, strings.Join(steps("err", "make x"), "\n"), "call.argv[7] == ")
	found, err := s.Why("other", factsOf("test", "go vet", ""))
	require.NoError(t, err)
	require.Equal(t, "skipped", found[0].Outcome)
	_, err = s.Why("nosuch", factsOf("test", "go vet", ""))
	require.ErrorContains(t, err, "no rule nosuch is in force")
}

// What the schema for editors says is what the loader takes.
func TestSchema(t *testing.T) {
	var schema struct {
		Required   []string
		Properties map[string]json.RawMessage
		Defs       map[string]struct {
			Required   []string
			Properties map[string]struct {
				Enum     []string
				MaxItems int
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal([]byte(rules.PackSchema), &schema))
	rule, test := schema.Defs["rule"], schema.Defs["test"]
	full := map[string]any{
		"pack": "a/b", "version": "1.0.0", "facts": rules.FactsSchema, "params": map[string]any{"p": 1},
		"variables": []any{map[string]any{"name": "v", "expr": "true"}},
		"rules": []any{map[string]any{
			"id": "r", "phase": "gate", "effect": "deny", "kinds": []any{"test"}, "applies": "true", "when": "variables.v", "reason": "x",
			"message": "'m'", "tests": []any{map[string]any{"name": "t", "facts": map[string]any{"command": "x"}, "want": "match"}},
		}},
	}
	load := func() error {
		src, err := json.Marshal(full) // JSON is YAML
		require.NoError(t, err)
		_, err = rules.ParsePack("p.yaml", src)
		return err
	}
	require.NoError(t, load())
	r := full["rules"].([]any)[0].(map[string]any)
	for _, part := range []struct {
		object     map[string]any
		properties []string
		required   []string
	}{
		{full, keysOf(schema.Properties), schema.Required},
		{r, keysOf(rule.Properties), rule.Required},
		{r["tests"].([]any)[0].(map[string]any), keysOf(test.Properties), test.Required},
	} {
		require.ElementsMatch(t, part.properties, keysOf(part.object), "the loader takes each of them, and the test has them all")
		for _, key := range part.properties {
			was := part.object[key]
			delete(part.object, key)
			err := load()
			if slices.Contains(part.required, key) && key != "name" {
				require.Errorf(t, err, "without %s", key)
			} else if key != "variables" && key != "name" { // the rule reads one
				require.NoErrorf(t, err, "without %s", key)
			}
			part.object[key] = was
		}
	}
	for phase, effects := range map[string][]string{"gate": {"allow", "deny"}, "judge": {"require", "fail", "inconclusive"}} {
		require.Contains(t, rule.Properties["phase"].Enum, phase)
		for _, effect := range rule.Properties["effect"].Enum {
			r["phase"], r["effect"], r["when"] = phase, effect, "command.calls.size() > 0"
			if phase == "judge" {
				r["when"] = "run.exit == 0"
			}
			require.Equalf(t, slices.Contains(effects, effect), load() == nil, "%s %s", phase, effect)
		}
	}
	r["phase"], r["effect"] = "judge", "fail"
	for _, want := range test.Properties["want"].Enum {
		r["tests"].([]any)[0].(map[string]any)["want"] = want
		require.NoError(t, load(), want)
	}
	require.Equal(t, []string{"match", "no-match", "skipped", "error"}, test.Properties["want"].Enum)
	r["tests"].([]any)[0].(map[string]any)["want"] = "maybe"
	require.Error(t, load())
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
