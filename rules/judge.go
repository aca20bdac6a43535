package rules

import (
	"fmt"
	"strings"

	"github.com/dalkkak/dkgraph/events"
)

// A Judgement is what the judge says of a claim. Its zero value is no verdict.
type Judgement struct {
	Verdict events.Verdict
	Reason  string // stable code
	Why     string
	Rules   []events.RuleOutcome // every require that applied, and what matched or erred
}

// Judge compares what a run showed with what the claim says. It is a pure function of s and f.
func (s *Ruleset) Judge(f Facts) Judgement {
	if j, done := withoutEvidence(f); done {
		return j
	}
	var g judging
	facts := factsObject(&f)
	for _, a := range s.active {
		frame := newFrame(a.Pack, facts)
		for _, r := range a.Pack.Rules {
			if a.Mode(r) != ModeOff && r.Phase == PhaseJudge && r.appliesTo(f.Claim.Kind) {
				g.note(a, r, frame)
			}
		}
	}
	return g.decide()
}

// withoutEvidence answers for runs that say nothing of the claim. It is code and not a rule, because no rule may make a
// verdict out of a check that did not run to its end.
func withoutEvidence(f Facts) (Judgement, bool) {
	unrunnable := func(reason, why string) (Judgement, bool) {
		return Judgement{Verdict: events.Unrunnable, Reason: reason, Why: oneLine(clip(why, maxMessage))}, true
	}
	switch {
	case !f.Claim.Expect.Understood:
		return unrunnable("expect_not_understood", "the expectation is not understood: "+f.Claim.Expect.Problem)
	case f.Run == nil:
		return unrunnable("no_run", "there is no run to judge")
	case f.Run.Problem != "":
		why := f.Run.Detail
		if why == "" {
			why = strings.ReplaceAll(f.Run.Problem, "_", " ")
		}
		return unrunnable(f.Run.Problem, why)
	}
	return Judgement{}, false
}

// A judging gathers outcomes on the way to a Judgement.
type judging struct {
	rules        []events.RuleOutcome
	inconclusive *events.RuleOutcome // the first of each
	failed       *events.RuleOutcome
	err          *events.RuleOutcome
	met          *events.RuleOutcome
}

func (g *judging) note(a Active, r *Rule, f *frame) {
	what, skipped, err := r.evaluate(f)
	if skipped || (what == OutcomeNoMatch && r.Effect != EffectRequire) {
		return
	}
	ro := r.outcome(0, what, err)
	if err == nil {
		ro.Message, ro.Values = r.say(f), values(r.explain(f, what))
	}
	if a.Mode(r) == ModeShadow {
		ro.Mode = ModeShadow
		g.rules = append(g.rules, ro)
		return
	}
	g.rules = append(g.rules, ro)
	first := func(p **events.RuleOutcome) {
		if *p == nil {
			*p = &ro
		}
	}
	switch {
	case what == OutcomeError:
		first(&g.err)
	case r.Effect == EffectInconclusive:
		first(&g.inconclusive)
	case r.Effect == EffectFail, what == OutcomeNoMatch: // a require that is false
		first(&g.failed)
	case a.Tighten: // what an agent can write proves nothing
	default:
		first(&g.met)
	}
}

func (g *judging) decide() Judgement {
	j := Judgement{Rules: g.rules}
	because := func(v events.Verdict, reason string, ro *events.RuleOutcome) Judgement {
		j.Verdict, j.Reason, j.Why = v, reason, fmt.Sprintf("%s (rule %s)", ro.Message, ro.Rule)
		return j
	}
	switch {
	case g.inconclusive != nil:
		return because(events.Unrunnable, g.inconclusive.Reason, g.inconclusive)
	case g.failed != nil:
		return because(events.Failed, g.failed.Reason, g.failed)
	case g.err != nil:
		return because(events.Unrunnable, "rule_error", g.err)
	case g.met == nil:
		j.Verdict, j.Reason, j.Why = events.Unrunnable, "no_evidence_required", "no rule says what would prove this claim"
		return j
	}
	var said []string
	for _, ro := range g.rules {
		if ro.Effect == EffectRequire && ro.Outcome == OutcomeMatch && ro.Mode == "" {
			said = append(said, ro.Message)
		}
	}
	j.Verdict, j.Reason, j.Why = events.Verified, "as_claimed", strings.Join(said, "; ")
	return j
}
