package events

import (
	"encoding/json"
	"fmt"
)

// refs are the references a sealed payload makes.
type refs struct {
	Claim *Ref `json:"claim"`
	Gate  *Ref `json:"gate"`
	Run   *Ref `json:"run"`
	// Of a receipt alone; runs and gates have no such member.
	Supersedes *Ref `json:"supersedes"`
}

type typedRef struct {
	Ref
	kind Kind
}

func decodeRefs(payload []byte) (refs, error) {
	var r refs
	if err := json.Unmarshal(payload, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return r, nil
}

func (r refs) list() []typedRef {
	var out []typedRef
	add := func(ref *Ref, kind Kind) {
		if ref != nil {
			out = append(out, typedRef{*ref, kind})
		}
	}
	add(r.Claim, KindClaimMade)
	add(r.Gate, KindGateDecided)
	add(r.Run, KindRunObserved)
	add(r.Supersedes, KindReceiptIssued)
	return out
}

// fits checks that rec is what ref names, and is about the same claim.
func (r refs) fits(ref typedRef, rec Record) error {
	if rec.env.Kind != ref.kind || rec.hash != ref.Hash {
		return fmt.Errorf("%w: event %d is not the %s it names", ErrRetargeted, ref.Seq, ref.kind)
	}
	if ref.kind == KindClaimMade {
		return nil
	}
	theirs, err := decodeRefs(rec.env.Payload)
	if err != nil || theirs.Claim == nil || *theirs.Claim != *r.Claim {
		return fmt.Errorf("%w: %s %d is about another claim", ErrRetargeted, ref.kind, ref.Seq)
	}
	return nil
}
