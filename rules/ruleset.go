package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/dalkkak/dkgraph/events"
)

// Outcomes of a rule.
const (
	OutcomeMatch   = "match"
	OutcomeNoMatch = "no_match"
	OutcomeError   = "error"
)

// A Ruleset is the packs in force. It is immutable and safe for concurrent use.
type Ruleset struct {
	packs  []*Pack
	digest string
}

// NewRuleset puts packs in force, in order. A rule id or a pack name may be there once.
func NewRuleset(packs ...*Pack) (*Ruleset, error) {
	if len(packs) == 0 {
		return nil, errors.New("a rule set needs a pack")
	}
	names, ids := make(map[string]bool), make(map[string]string)
	digests := make([]string, len(packs))
	for i, p := range packs {
		if names[p.Name] {
			return nil, fmt.Errorf("pack %s is there twice", p.Name)
		}
		names[p.Name] = true
		for _, r := range p.Rules {
			if other, ok := ids[r.ID]; ok {
				return nil, fmt.Errorf("rule %s of pack %s is in pack %s already: give it another id", r.ID, p.Name, other)
			}
			ids[r.ID] = p.Name
		}
		digests[i] = p.Digest
	}
	digest, err := canonicalDigest(digests)
	return &Ruleset{packs: slices.Clone(packs), digest: digest}, err
}

// Digest names the rule set by its content.
func (s *Ruleset) Digest() string { return s.digest }

// Packs returns the packs in order.
func (s *Ruleset) Packs() []*Pack { return slices.Clone(s.packs) }

// Activation returns the payload of the event that puts s in force.
func (s *Ruleset) Activation() events.Activation {
	a := events.Activation{Ruleset: s.digest}
	for _, p := range s.packs {
		a.Packs = append(a.Packs, events.ActivePack{Name: p.Name, Digest: p.Digest})
	}
	return a
}

// Installed returns the payload of the event that keeps p's source.
func (p *Pack) Installed() events.PackInstalled {
	return events.PackInstalled{Name: p.Name, Version: p.Version, Digest: p.Digest, Source: p.Source}
}

// appliesTo reports whether r is for claims of the given kind.
func (r *Rule) appliesTo(kind string) bool {
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)
}

// An outcome is what one rule made of one frame.
type outcome struct {
	rule *Rule
	call int // from 1; 0 is the whole
	what string
	err  error
}

// evaluate evaluates r once. skipped is true when r says itself that it does not apply here.
func (r *Rule) evaluate(f *frame) (what string, skipped bool, err error) {
	if r.applies != nil {
		v, err := truth(r.applies.eval(f))
		if err != nil {
			return OutcomeError, false, err
		}
		if !v {
			return OutcomeNoMatch, true, nil
		}
	}
	v, err := truth(r.when.eval(f))
	switch {
	case err != nil:
		return OutcomeError, false, err
	case v:
		return OutcomeMatch, false, nil
	default:
		return OutcomeNoMatch, false, nil
	}
}

// truth takes nothing for true but true itself.
func truth(v ref.Val, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the rule gives %s, no truth value", v.Type().TypeName())
	}
	return bool(b), nil
}

// record makes the recorded form of an outcome that counts, with the values it was decided by.
func (o outcome) record(f *frame) events.RuleOutcome {
	ro := events.RuleOutcome{
		Rule: o.rule.ID, Digest: o.rule.Digest, Effect: o.rule.Effect, Outcome: o.what, Call: o.call, Reason: o.rule.Reason,
	}
	if o.err != nil {
		ro.Message = clip(o.err.Error(), maxMessage)
		return ro
	}
	ro.Message = o.rule.say(f)
	ro.Values = o.rule.explain(f)
	return ro
}

const maxMessage = 500

// say gives the rule's message; it is for people and decides nothing.
func (r *Rule) say(f *frame) string {
	if r.message != nil {
		if v, err := r.message.eval(f); err == nil {
			if s, ok := v.(types.String); ok && s != "" {
				return clip(oneLine(string(s)), maxMessage)
			}
		}
	}
	return strings.ReplaceAll(r.Reason, "_", " ")
}

// oneLine keeps hostile text from drawing over the lines around it.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}
