package rules

import (
	"fmt"
	"strings"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// A Decision is what the gate says of a claim. The zero value refuses.
type Decision struct {
	Allow  bool
	Reason string // stable code
	Why    string
	Rules  []events.RuleOutcome // those that matched or erred; Ruleset.Explain adds the values
}

// Gate decides whether the command of a claim may be run. It is a pure function of s and f.
func (s *Ruleset) Gate(f Facts) Decision {
	g := gating{facts: &f, allowed: make([]bool, len(f.Command.Calls))}
	facts := factsObject(&f)
	for _, a := range s.active {
		frame := newFrame(a.Pack, facts)
		for _, r := range a.Pack.Rules {
			if g.mode = a.Mode(r); r.Phase == PhaseGate && g.mode != ModeOff && r.appliesTo(f.Claim.Kind) {
				g.apply(r, frame)
			}
		}
	}
	return g.decide()
}

// A gating gathers outcomes on the way to a Decision.
type gating struct {
	facts      *Facts
	mode       string // of the rule that is looked at
	allowed    []bool // each call
	allowedAll bool
	deny       *events.RuleOutcome // the first
	err        *events.RuleOutcome // the first
	rules      []events.RuleOutcome
}

// apply evaluates a rule that reads `call` once for each call, others once. No outcome ends the evaluation early.
func (g *gating) apply(r *Rule, f *frame) {
	if !r.usesCall() {
		f.look(nil)
		g.note(r, f, 0)
		return
	}
	for i, call := range f.calls() {
		f.look(call)
		g.note(r, f, i+1)
	}
}

func (g *gating) note(r *Rule, f *frame, call int) {
	what, _, err := r.evaluate(f)
	if what == OutcomeNoMatch {
		return
	}
	ro := r.outcome(call, what, err)
	if g.mode == ModeShadow {
		ro.Mode = ModeShadow
		g.rules = append(g.rules, ro)
		return
	}
	if r.Effect == EffectDeny && g.deny == nil && what == OutcomeMatch {
		ro.Message = r.say(f)
	}
	if call > 0 && ro.Message != "" {
		ro.Message = inScript(ro.Message, g.facts.Command.Calls[call-1])
	}
	g.rules = append(g.rules, ro)
	switch {
	case what == OutcomeError:
		if g.err == nil {
			g.err = &ro
		}
	case r.Effect == EffectDeny:
		if g.deny == nil {
			g.deny = &ro
		}
	case call == 0:
		g.allowedAll = true
	default:
		g.allowed[call-1] = true
	}
}

// decide combines the outcomes: deny overrides, an error denies, the default is to refuse.
func (g *gating) decide() Decision {
	d := Decision{Rules: g.rules}
	refuse := func(reason, why string) Decision {
		d.Reason, d.Why = reason, why
		return d
	}
	c := g.facts.Command
	switch {
	case g.deny != nil:
		return refuse(g.deny.Reason, fmt.Sprintf("%s (rule %s)", g.deny.Message, g.deny.Rule))
	case len(c.Refusals) > 0:
		return refuse(c.Refusals[0].Code, refusalText(c.Refusals[0]))
	case !c.Parsed || (c.Plan == nil && g.facts.Claim.Check != CheckFile):
		return refuse("not_understood", "the command could not be understood")
	case g.err != nil:
		return refuse("rule_error", fmt.Sprintf("rule %s could not decide: %s", g.err.Rule, g.err.Message))
	case g.allowedAll:
	case len(c.Calls) == 0:
		return refuse("no_allow", "no rule allows this check")
	default:
		for i, ok := range g.allowed {
			if !ok {
				return refuse("no_allow", noAllowText(c.Calls[i]))
			}
		}
	}
	d.Allow, d.Reason, d.Why = true, "allowed", g.allowText()
	return d
}

func (g *gating) allowText() string {
	var ids []string
	seen := make(map[string]bool)
	for _, r := range g.rules {
		if r.Effect == EffectAllow && r.Outcome == OutcomeMatch && r.Mode == "" && !seen[r.Rule] {
			seen[r.Rule] = true
			ids = append(ids, r.Rule)
		}
	}
	return "allowed by " + strings.Join(ids, ", ")
}

func refusalText(r shell.Refusal) string {
	return oneLine(fmt.Sprintf("not understood: %s at %d:%d: %q", strings.ReplaceAll(r.Code, "_", " "), r.Line, r.Col, clip(r.Word, 80)))
}

// inScript says where a call is that is not in the command itself.
func inScript(message string, c shell.Call) string {
	if c.Via == "" {
		return message
	}
	return clip(message, maxMessage) + " (in " + clip(oneLine(c.Via), 120) + ")"
}

func noAllowText(c shell.Call) string {
	text := fmt.Sprintf("no rule allows %q", clip(strings.Join(c.Argv, " "), 120))
	if len(c.Unknown) > 0 {
		text += fmt.Sprintf(" (unknown: %s)", clip(strings.Join(c.Unknown, ", "), 120))
	}
	return oneLine(inScript(text, c))
}
