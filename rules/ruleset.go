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

// Modes of a rule in force. The zero value enforces.
const (
	ModeEnforce = "enforce" // it decides
	ModeShadow  = "shadow"  // it is evaluated and recorded, and never decides
	ModeOff     = "off"     // it is not evaluated
)

// An Active is a pack in force.
type Active struct {
	Pack  *Pack
	Modes map[string]string // rule id → mode; those that are not named enforce

	// Tighten: the pack comes from where an agent can write. It may refuse and accuse, never allow, excuse or prove.
	Tighten bool
	// Default: the pack came with the program; a newer program puts its own in the place of it.
	Default bool
}

// Mode returns the mode of a rule in force.
func (a Active) Mode(r *Rule) string {
	if m, ok := a.Modes[r.ID]; ok {
		return m
	}
	return ModeEnforce
}

// modes are the modes that differ from enforce and name rules that are there.
func (a Active) modes() map[string]string {
	out := make(map[string]string)
	for _, r := range a.Pack.Rules {
		if m := a.Mode(r); m != ModeEnforce {
			out[r.ID] = m
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// A Ruleset is the packs in force. It is immutable and safe for concurrent use.
type Ruleset struct {
	active []Active
	digest string
}

// NewRuleset puts packs in force, in order, with every rule enforced.
func NewRuleset(packs ...*Pack) (*Ruleset, error) {
	active := make([]Active, len(packs))
	for i, p := range packs {
		active[i].Pack = p
	}
	return Activate(active...)
}

// Activate puts packs in force, in order. A rule id or a pack name may be there once.
func Activate(active ...Active) (*Ruleset, error) {
	if len(active) == 0 {
		return nil, errors.New("a rule set needs a pack")
	}
	names, ids := make(map[string]bool), make(map[string]string)
	for _, a := range active {
		p := a.Pack
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
		if err := a.check(); err != nil {
			return nil, err
		}
	}
	digest, err := digestActive(active)
	return &Ruleset{active: slices.Clone(active), digest: digest}, err
}

func (a Active) check() error {
	for id, mode := range a.Modes {
		if mode != ModeEnforce && mode != ModeShadow && mode != ModeOff {
			return fmt.Errorf("mode %q of rule %s is none of enforce, shadow, off", mode, id)
		}
	}
	if a.Tighten {
		return a.Pack.Tightens()
	}
	return nil
}

// digestActive hashes what decides: packs, modes, and what is held back. A pack with nothing said about it is its digest.
func digestActive(active []Active) (string, error) {
	parts := make([]any, len(active))
	for i, a := range active {
		parts[i] = a.Pack.Digest
		if modes := a.modes(); modes != nil || a.Tighten {
			parts[i] = map[string]any{"pack": a.Pack.Digest, "modes": modes, "tighten": a.Tighten}
		}
	}
	return canonicalDigest(parts)
}

// Digest names the rule set by its content.
func (s *Ruleset) Digest() string { return s.digest }

// Active returns the packs in order, with their modes.
func (s *Ruleset) Active() []Active { return slices.Clone(s.active) }

// Packs returns the packs in order.
func (s *Ruleset) Packs() []*Pack {
	packs := make([]*Pack, len(s.active))
	for i, a := range s.active {
		packs[i] = a.Pack
	}
	return packs
}

// rule finds a rule by its id; the rule is nil if there is none.
func (s *Ruleset) rule(id string) (Active, *Rule) {
	for _, a := range s.active {
		if r := a.Pack.Rule(id); r != nil {
			return a, r
		}
	}
	return Active{}, nil
}

// Activation returns the payload of the event that puts s in force.
func (s *Ruleset) Activation() events.Activation {
	a := events.Activation{Ruleset: s.digest}
	for _, m := range s.active {
		a.Packs = append(a.Packs, events.ActivePack{
			Name: m.Pack.Name, Digest: m.Pack.Digest, Modes: m.modes(), Default: m.Default, Tighten: m.Tighten,
		})
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

// outcome makes the recorded form of what a rule made of one call, or of the whole (0).
func (r *Rule) outcome(call int, what string, err error) events.RuleOutcome {
	ro := events.RuleOutcome{Rule: r.ID, Digest: r.Digest, Effect: r.Effect, Outcome: what, Call: call, Reason: r.Reason}
	if err != nil {
		ro.Message = clip(err.Error(), maxMessage)
	}
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
