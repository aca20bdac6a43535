package events

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Seal is the signature on an event that a verdict rests on. It binds the event to one log, kind, claim and rule set,
// see the package documentation for the signed bytes.
type Seal struct {
	Subject Hash   `json:"subject,omitzero"` // hash of the claim's line; zero when the event is about no claim
	Ruleset string `json:"ruleset,omitempty"`
	Sig     []byte `json:"sig"`
}

// sealedBytes returns what a seal signs. The event's key is in it, so that a sealed event cannot be said a second time
// under another key.
func sealedBytes(origin string, kind Kind, key Hash, s *Seal, payload []byte) []byte {
	subject, ruleset := "-", "-"
	if !s.Subject.IsZero() {
		subject = s.Subject.String()
	}
	if s.Ruleset != "" {
		ruleset = s.Ruleset
	}
	return []byte(strings.Join([]string{
		"dkgraph seal v1", origin, string(kind), key.String(), subject, ruleset, Sum(payload).String(), "",
	}, "\n"))
}

// A verifier checks seals. It holds no secret.
type verifier struct {
	origin string
	key    ed25519.PublicKey
}

// bound are the members of a sealed payload that its seal must repeat.
type bound struct {
	Claim   *Ref   `json:"claim"`
	Ruleset string `json:"ruleset"`
}

// check reports whether the seal of an event of the given kind is genuine and is about what the payload says.
func (v verifier) check(kind Kind, key Hash, payload []byte, s *Seal) error {
	if !kind.Sealed() {
		if s != nil {
			return fmt.Errorf("%w: %s carries a seal and needs none", ErrUnsealed, kind)
		}
		return nil
	}
	if s == nil {
		return fmt.Errorf("%w: %s needs a seal", ErrUnsealed, kind)
	}
	if !ed25519.Verify(v.key, sealedBytes(v.origin, kind, key, s, payload), s.Sig) {
		return fmt.Errorf("%w: the seal of this %s is not by this log's key, or is for something else", ErrUnsealed, kind)
	}
	var b bound
	if err := json.Unmarshal(payload, &b); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if kind.aboutClaim() && (b.Claim == nil || b.Claim.Hash.IsZero() || b.Claim.Hash != s.Subject) {
		return ErrRetargeted
	}
	if b.Ruleset != s.Ruleset {
		return fmt.Errorf("%w: rule set %q, sealed for %q", ErrRetargeted, b.Ruleset, s.Ruleset)
	}
	return nil
}

// An Issuer makes the drafts that a verdict rests on. It holds the log's private key; whoever has an Issuer can write
// receipts, so there is one place that makes it: projections/internal/issuer.
type Issuer struct {
	origin string
	key    ed25519.PrivateKey
}

// NewIssuer returns an issuer for the log of the given origin. A key that is not the one pinned in the log's first event
// makes drafts which that log refuses.
func NewIssuer(origin string, key ed25519.PrivateKey) *Issuer {
	return &Issuer{origin: origin, key: key}
}

// PackInstalled drafts the source of a rule pack.
func (i *Issuer) PackInstalled(p PackInstalled) (Draft, error) {
	// The digest leaves out messages and tests; the source that is kept is named by all of it.
	return i.seal(p, Hash{}, "", p.Digest, Sum([]byte(p.Source)).String())
}

// RulesActivated drafts a change of the rules in force.
func (i *Issuer) RulesActivated(a Activation) (Draft, error) {
	return i.seal(a, Hash{}, a.Ruleset, a.Ruleset, utoa(a.After))
}

// GateDecided drafts the gate's decision on a claim.
func (i *Issuer) GateDecided(g Gate) (Draft, error) {
	return i.seal(g, g.Claim.Hash, g.Ruleset, g.Claim.Hash.String(), g.Ruleset, g.Engine, g.FactsDigest)
}

// RunObserved drafts the evidence of a run.
func (i *Issuer) RunObserved(r Run) (Draft, error) {
	return i.seal(r, r.Claim.Hash, r.Ruleset, r.Claim.Hash.String(), r.Gate.Hash.String(), r.Started.UTC().String(), r.Problem)
}

// ReceiptIssued drafts a verdict.
func (i *Issuer) ReceiptIssued(r Receipt) (Draft, error) {
	switch {
	case !r.Verdict.Valid():
		return Draft{}, fmt.Errorf("receipt: %q is no verdict", r.Verdict)
	case r.Gate == nil:
		return Draft{}, errors.New("receipt: it rests on no gate decision")
	case r.Run == nil && (r.Verdict == Verified || r.Verdict == Failed):
		return Draft{}, fmt.Errorf("receipt: %s, and it rests on no run", r.Verdict)
	}
	return i.seal(r, r.Claim.Hash, r.Ruleset,
		r.Claim.Hash.String(), refKey(r.Gate), refKey(r.Run), r.Ruleset, r.Engine, r.Mode)
}

func refKey(r *Ref) string {
	if r == nil {
		return "-"
	}
	return r.Hash.String()
}

func (i *Issuer) seal(p payloadOf, subject Hash, ruleset string, identity ...string) (Draft, error) {
	if i == nil || len(i.key) != ed25519.PrivateKeySize {
		return Draft{}, errors.New("issuer without a key")
	}
	d, err := newDraft(p, nil, identity...)
	if err != nil {
		return Draft{}, err
	}
	d.seal = &Seal{Subject: subject, Ruleset: ruleset}
	d.seal.Sig = ed25519.Sign(i.key, sealedBytes(i.origin, d.kind, d.origin, d.seal, d.payload))
	return d, nil
}
