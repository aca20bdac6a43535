package rules

import (
	"fmt"
	"strings"
)

// A Finding is what one rule makes of one simple command, or of the whole, and why.
type Finding struct {
	Rule    string `json:"rule"`
	Pack    string `json:"pack"`
	Mode    string `json:"mode"`
	Effect  string `json:"effect"`
	Call    int    `json:"call,omitempty"`    // from 1; 0 is the whole
	Command string `json:"command,omitempty"` // the simple command
	Outcome string `json:"outcome"`           // match, no_match, error, or skipped: the rule itself says that it does not apply
	Message string `json:"message,omitempty"`
	Steps   []Step `json:"steps"`
}

// Why evaluates one rule, whatever its mode, and explains what it makes of f.
func (s *Ruleset) Why(id string, f Facts) ([]Finding, error) {
	a, r := s.rule(id)
	if r == nil {
		return nil, fmt.Errorf("no rule %s is in force", id)
	}
	if !r.appliesTo(f.Claim.Kind) {
		text := fmt.Sprintf("it is for claims of kind %s, and this one is of kind %s", strings.Join(r.Kinds, ", "), f.Claim.Kind)
		return []Finding{{Rule: id, Pack: a.Pack.Name, Mode: a.Mode(r), Effect: r.Effect, Outcome: wantSkipped, Message: text, Steps: []Step{}}}, nil
	}
	fr := newFrame(a.Pack, factsObject(&f))
	out := []Finding{}
	for _, n := range fr.looks(r) {
		fr.lookAt(n)
		fd := Finding{Rule: id, Pack: a.Pack.Name, Mode: a.Mode(r), Effect: r.Effect, Call: n, Steps: []Step{}}
		if n > 0 {
			fd.Command = strings.Join(f.Command.Calls[n-1].Argv, " ")
		}
		what, skipped, err := r.evaluate(fr)
		fd.Outcome = what
		switch {
		case skipped:
			fd.Outcome = wantSkipped
		case err != nil:
			fd.Message = oneLine(clip(err.Error(), maxMessage))
		case what == OutcomeMatch, r.Effect == EffectRequire:
			fd.Message = r.say(fr)
		}
		fd.Steps = append(fd.Steps, r.explain(fr, what)...)
		out = append(out, fd)
	}
	return out, nil
}
