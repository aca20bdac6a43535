package rules

import "encoding/json"

// InputDigest hashes everything a judgement reads: the claim's payload, the recorded facts of the gate, and the payload of
// the run, nil if nothing was run.
func InputDigest(claim, facts, run json.RawMessage) string {
	parts := [][]byte{claim, facts, run}
	digests := make([]string, len(parts))
	for i, p := range parts {
		digests[i] = digestOf(p)
	}
	d, err := canonicalDigest(digests)
	if err != nil {
		panic("internal error: " + err.Error()) // strings always encode
	}
	return d
}

// VerdictDigest hashes what was decided and by which rules: what replay must give again. Messages and rules in
// shadow are outside.
func VerdictDigest(j Judgement, input string) string {
	type decided struct {
		Rule, Outcome string
		Call          int
	}
	rules := []decided{}
	for _, r := range j.Rules {
		if r.Mode == "" {
			rules = append(rules, decided{Rule: r.Digest, Outcome: r.Outcome, Call: r.Call})
		}
	}
	d, err := canonicalDigest(map[string]any{
		"input": input, "verdict": j.Verdict, "reason": j.Reason, "rules": rules, "engine": Engine,
	})
	if err != nil {
		panic("internal error: " + err.Error()) // strings and numbers always encode
	}
	return d
}
