package rules_test

import (
	"testing"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

// BenchmarkGate is one whole decision: parse, facts, all default rules.
func BenchmarkGate(b *testing.B) {
	s, err := rules.NewRuleset(rules.DefaultPacks()...)
	if err != nil {
		b.Fatal(err)
	}
	for _, command := range []string{"go test ./...", "cd web && npm test", "go test ./... 2>&1 | tail -20", "rm -rf build && go test ./..."} {
		b.Run(command, func(b *testing.B) {
			for b.Loop() {
				s.Gate(rules.NewFacts(events.Claim{ClaimID: "t", Text: "x", Kind: "test", Verify: command}, ""))
			}
		})
	}
}

// BenchmarkJudge is one judgement over ready facts.
func BenchmarkJudge(b *testing.B) {
	s, err := rules.NewRuleset(rules.DefaultPacks()...)
	if err != nil {
		b.Fatal(err)
	}
	f := rules.NewFacts(events.Claim{ClaimID: "t", Text: "x", Kind: "test", Verify: "go test ./..."}, "")
	f = f.With(events.Run{Check: "command", Tests: &events.Tests{Framework: "go test", Run: 3, Passed: 3, Counted: true}})
	for b.Loop() {
		s.Judge(f)
	}
}
