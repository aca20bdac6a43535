package events

import (
	"strings"
	"unicode"
)

// A Kind says what an event is about. The strings are frozen: they are stored in every log.
type Kind string

// The kinds of event. Those that a verdict rests on are sealed, see [Kind.Sealed].
const (
	KindLogCreated        Kind = "log.created"
	KindSessionSeen       Kind = "session.seen"
	KindNodeNoted         Kind = "node.noted"
	KindSummaryNoted      Kind = "summary.noted"
	KindClaimMade         Kind = "claim.made"
	KindMarkerIgnored     Kind = "marker.ignored"
	KindTranscriptDamaged Kind = "transcript.damaged"
	KindPackInstalled     Kind = "pack.installed"
	KindRulesActivated    Kind = "rules.activated"
	KindGateDecided       Kind = "gate.decided"
	KindRunObserved       Kind = "run.observed"
	KindReceiptIssued     Kind = "receipt.issued"
	KindAnnotationAdded   Kind = "annotation.added"
)

// Kinds lists every kind this version writes, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		KindLogCreated, KindSessionSeen, KindNodeNoted, KindSummaryNoted, KindClaimMade, KindMarkerIgnored,
		KindTranscriptDamaged, KindPackInstalled, KindRulesActivated, KindGateDecided, KindRunObserved,
		KindReceiptIssued, KindAnnotationAdded,
	}
}

// Sealed reports whether events of this kind must carry a seal. A forged run would earn an honest receipt, so the seal
// is asked of everything a verdict rests on and not of the receipt alone.
func (k Kind) Sealed() bool {
	switch k {
	case KindPackInstalled, KindRulesActivated, KindGateDecided, KindRunObserved, KindReceiptIssued:
		return true
	default:
		return false
	}
}

// aboutClaim reports whether events of this kind are bound to one claim.
func (k Kind) aboutClaim() bool {
	return k == KindGateDecided || k == KindRunObserved || k == KindReceiptIssued
}

// A Verdict is what the store says of a claim. The zero value is none of them.
type Verdict string

// The four verdicts.
const (
	Verified   Verdict = "verified"
	Failed     Verdict = "failed"
	Unsafe     Verdict = "unsafe"
	Unrunnable Verdict = "unrunnable"
)

// Valid reports whether v is one of the four verdicts.
func (v Verdict) Valid() bool {
	return v == Verified || v == Failed || v == Unsafe || v == Unrunnable
}

// storeNodeTypes are the node types that only the store writes, in the folded form of [foldName]. An agent that notes a
// node of such a type is trying, or seems to be trying, to write its own verdict.
var storeNodeTypes = map[string]bool{
	"change": true, "claim": true, "gate": true, "gatedecision": true, "run": true, "evidence": true,
	"receipt": true, "verificationreceipt": true, "session": true, "message": true, "agent": true,
	"workspace": true, "thread": true, "ruleset": true, "rule": true, "pack": true, "annotation": true,
	"override": true, "hookdecision": true, "subject": true, "verdict": true, "summary": true,
}

// StoreOnly reports whether nodes of the given type may be written by the store alone. Case, separators and invisible
// characters make no difference.
func StoreOnly(nodeType string) bool { return storeNodeTypes[foldName(nodeType)] }

// foldName keeps the letters and digits of s, lower-cased, so that look-alike spellings of a name compare equal.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
