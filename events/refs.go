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
	return out
}
