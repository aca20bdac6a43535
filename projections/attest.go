package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
)

// Predicates that a receipt can be exported under.
const (
	PredicateClaim      = "https://github.com/dalkkak/dkgraph/claim-verification/v0.1"
	PredicateTestResult = "https://in-toto.io/attestation/test-result/v0.1"
	PredicateSVR        = "https://in-toto.io/attestation/svr/v0.1"
)

const (
	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
)

// An Envelope is a DSSE envelope.
type Envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []EnvelopeSignature `json:"signatures"`
}

// EnvelopeSignature is one signature of an Envelope.
type EnvelopeSignature struct {
	KeyID string `json:"keyid"` // hexadecimal SHA-256 of the log's public key
	Sig   []byte `json:"sig"`
}

// statement is an in-toto statement. Its subject is the claim's event.
type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     any          `json:"predicate"`
}

type descriptor struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// claimPredicate is the whole truth about a receipt; the other predicates are parts of it that other tools know.
type claimPredicate struct {
	Claim claimPart `json:"claim"`
	Gate  *gatePart `json:"gate,omitempty"`
	Run   *runPart  `json:"run,omitempty"`
	Judge judgePart `json:"judge"`
	Log   logPart   `json:"log"`
}

type claimPart struct {
	ID     string          `json:"id"`
	Text   string          `json:"text"`
	Kind   string          `json:"kind"`
	Verify string          `json:"verify,omitempty"`
	Expect json.RawMessage `json:"expect,omitempty"`
	Agent  string          `json:"agent,omitempty"`
	Seq    uint64          `json:"seq"`
}

type gatePart struct {
	Decision string               `json:"decision"`
	Reason   string               `json:"reason"`
	Rules    []events.RuleOutcome `json:"rules"`
}

type runPart struct {
	Problem    string         `json:"problem,omitempty"`
	CWD        string         `json:"cwd"`
	Stages     []events.Stage `json:"stages,omitempty"`
	Exit       int            `json:"exit"`
	CheckExit  int            `json:"checkExit"`
	Started    time.Time      `json:"started"`
	DurationMS int64          `json:"durationMs"`
	EnvSHA256  string         `json:"envSha256,omitempty"`
	Stdout     string         `json:"stdoutSha256,omitempty"`
	Stderr     string         `json:"stderrSha256,omitempty"`
	Tests      *events.Tests  `json:"tests,omitempty"`
	Files      []events.File  `json:"files,omitempty"`
	Sandbox    events.Sandbox `json:"sandbox"`
}

type judgePart struct {
	Verdict       events.Verdict       `json:"verdict"`
	Reason        string               `json:"reason"`
	Why           string               `json:"why"`
	Rules         []events.RuleOutcome `json:"rules"`
	Ruleset       string               `json:"ruleset"`
	InputDigest   string               `json:"inputDigest"`
	VerdictDigest string               `json:"verdictDigest"`
	Engine        string               `json:"engine"`
}

type logPart struct {
	Origin string    `json:"origin"`
	Seq    uint64    `json:"seq"`
	Trust  string    `json:"trust"`
	Proof  ProofFile `json:"proof"` // that the receipt's event is in the log
}

// Attest exports a receipt as an in-toto statement in a DSSE envelope, under one of the predicates above. test-result and
// SVR say less, and only of receipts that fit them.
func (p *Projector) Attest(ctx context.Context, receipt graph.Node, predicate string) (Envelope, error) {
	v := p.graph.View()
	w, err := v.Why(receipt)
	v.Close()
	if err != nil {
		return Envelope{}, err
	}
	if w.Receipt == nil {
		return Envelope{}, fmt.Errorf("claim %s has no receipt yet", w.Claim.ID)
	}
	full, err := p.claimPredicate(ctx, w)
	if err != nil {
		return Envelope{}, err
	}
	s := statement{Type: statementType, PredicateType: predicate}
	if s.Predicate, err = full.as(predicate, w.Receipt.Recorded); err != nil {
		return Envelope{}, err
	}
	rec, err := p.log.Get(ctx, w.Claim.Seq)
	if err != nil {
		return Envelope{}, err
	}
	s.Subject = []descriptor{{
		Name:   fmt.Sprintf("claim %s: event %d of %s", full.Claim.ID, w.Claim.Seq, p.log.Origin()),
		Digest: map[string]string{"sha256": events.Sum(rec.Line()).String()},
	}}
	return p.envelope(s)
}

func (p *Projector) envelope(s statement) (Envelope, error) {
	payload, err := json.Marshal(s)
	if err != nil {
		return Envelope{}, err
	}
	seal, err := p.seal()
	if err != nil {
		return Envelope{}, err
	}
	keyID, sig, err := seal.Attest(payloadType, payload)
	return Envelope{PayloadType: payloadType, Payload: payload, Signatures: []EnvelopeSignature{{KeyID: keyID, Sig: sig}}}, err
}

func (p *Projector) claimPredicate(ctx context.Context, w graph.Why) (claimPredicate, error) {
	var out claimPredicate
	c, err := graph.Decode[events.Claim](w.Claim)
	if err != nil {
		return out, err
	}
	out.Claim = claimPart{ID: c.ClaimID, Text: c.Text, Kind: c.Kind, Verify: c.Verify, Expect: c.Expect, Seq: w.Claim.Seq}
	if w.Agent != nil {
		out.Claim.Agent = w.Agent.Name
	}
	r, err := graph.Decode[events.Receipt](*w.Receipt)
	if err != nil {
		return out, err
	}
	out.Judge = judgePart{
		Verdict: r.Verdict, Reason: r.Reason, Why: r.Why, Rules: r.Rules, Ruleset: r.Ruleset,
		InputDigest: r.InputDigest, VerdictDigest: r.VerdictDigest, Engine: r.Engine,
	}
	if w.Gate != nil {
		g, err := graph.Decode[events.Gate](*w.Gate)
		if err != nil {
			return out, err
		}
		out.Gate = &gatePart{Decision: g.Decision, Reason: g.Reason, Rules: g.Rules}
	}
	if w.Run != nil {
		run, err := graph.Decode[events.Run](*w.Run)
		if err != nil {
			return out, err
		}
		out.Run = &runPart{
			Problem: run.Problem, CWD: run.CWD, Stages: run.Stages, Exit: run.Exit, CheckExit: run.CheckExit, Started: run.Started,
			DurationMS: run.DurationMS, EnvSHA256: run.EnvSHA, Stdout: run.Stdout.SHA256, Stderr: run.Stderr.SHA256,
			Tests: run.Tests, Files: run.Files, Sandbox: run.Sandbox,
		}
	}
	out.Log = logPart{Origin: p.log.Origin(), Seq: w.Receipt.Seq, Trust: TrustSameAccount}
	out.Log.Proof, err = p.Prove(ctx, w.Receipt.Seq)
	return out, err
}

// as gives the form of the predicate that is asked for. A receipt that does not fit it is refused: a refused or unrunnable
// check is no test result, and a summary of what was verified says nothing of what was not.
func (c claimPredicate) as(predicate string, at time.Time) (any, error) {
	switch predicate {
	case PredicateClaim:
		return c, nil
	case PredicateTestResult:
		result := map[events.Verdict]string{events.Verified: "PASSED", events.Failed: "FAILED"}[c.Judge.Verdict]
		if result == "" || c.Run == nil || c.Run.Tests == nil {
			return nil, fmt.Errorf("%s is for tests that ran; this receipt is %s", predicate, c.Judge.Verdict)
		}
		return map[string]any{
			"result":        result,
			"configuration": []descriptor{{Name: "rules", Digest: map[string]string{"sha256": strings.TrimPrefix(c.Judge.Ruleset, "sha256:")}}},
		}, nil
	case PredicateSVR:
		if c.Judge.Verdict != events.Verified {
			return nil, fmt.Errorf("%s says what was verified; this receipt is %s", predicate, c.Judge.Verdict)
		}
		return map[string]any{
			"verifier":    map[string]any{"id": "https://github.com/dalkkak/dkgraph#" + c.Log.Origin},
			"timeCreated": at.UTC().Format(time.RFC3339),
			"properties":  []string{"DK_CLAIM_VERIFIED", "DK_REASON_" + c.Judge.Reason},
		}, nil
	}
	return nil, fmt.Errorf("no predicate %s", predicate)
}
