package projections_test

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	svr "github.com/in-toto/attestation/go/predicates/svr/v01"
	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/projections"
)

// A verifier is what somebody with the log's public key and the public libraries has.
type verifier struct{ key ed25519.PublicKey }

func (v verifier) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(v.key, data, sig) {
		return dsse.ErrNoSignature
	}
	return nil
}
func (v verifier) KeyID() (string, error)   { return events.Sum(v.key).String(), nil }
func (v verifier) Public() crypto.PublicKey { return v.key }

// An exported receipt is read by the public libraries for its formats, and says what the receipt says.
func TestAttest(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	results := b.verify(t, p)
	open := func(r projections.Result, predicate string) *intoto.Statement {
		env, err := p.Attest(t.Context(), *r.Receipt, predicate)
		require.NoError(t, err)
		raw, err := json.Marshal(env)
		require.NoError(t, err)
		var theirs dsse.Envelope
		require.NoError(t, json.Unmarshal(raw, &theirs))
		ev, err := dsse.NewEnvelopeVerifier(verifier{p.Log().PublicKey()})
		require.NoError(t, err)
		_, payload, err := ev.VerifyAndDecode(t.Context(), &theirs)
		require.NoError(t, err)
		var s intoto.Statement
		require.NoError(t, protojson.Unmarshal(payload, &s))
		require.NoError(t, s.Validate())
		require.Equal(t, predicate, s.GetPredicateType())
		theirs.Payload = theirs.Payload[:len(theirs.Payload)-4] + "AAAA"
		_, err = ev.Verify(t.Context(), &theirs)
		require.Error(t, err, "a changed payload does not verify")
		return &s
	}
	for i, r := range results {
		s := open(r, projections.PredicateClaim)
		f := s.GetPredicate().AsMap()
		require.Equal(t, r.Receipt.Type, f["judge"].(map[string]any)["verdict"])
		require.Equal(t, want[i], r.Receipt.Type+" "+f["judge"].(map[string]any)["reason"].(string))
		proof, err := json.Marshal(f["log"].(map[string]any)["proof"])
		require.NoError(t, err)
		var file projections.ProofFile
		require.NoError(t, json.Unmarshal(proof, &file))
		key, err := p.Log().VerifierKey()
		require.NoError(t, err)
		require.NoError(t, file.Check(key))
	}
	_, err := p.Attest(t.Context(), *results[2].Receipt, projections.PredicateSVR)
	require.ErrorContains(t, err, "unsafe")
	_, err = p.Attest(t.Context(), *results[0].Receipt, projections.PredicateTestResult)
	require.Error(t, err, "a file claim is no test")

	var sum svr.SimpleVerificationResult
	fill(t, open(results[0], projections.PredicateSVR), &sum)
	require.Contains(t, sum.GetProperties(), "DK_CLAIM_VERIFIED")

	for name, text := range map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.21\n", "x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(b.repo, name), []byte(text), 0o600))
	}
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, "", "", "", "", "",
		`<dk-verify>{"id":"t9","claim":"tests pass","kind":"test","verify":"go test -v ./..."}</dk-verify>`)), "s")
	require.NoError(t, err)
	tested, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
	require.NoError(t, err)
	var result testresult.TestResult
	fill(t, open(tested[0], projections.PredicateTestResult), &result)
	require.Equal(t, "PASSED", result.GetResult())
	require.NoError(t, result.GetConfiguration()[0].Validate())
}

// fill reads a predicate into the public library's own type for it.
func fill(t *testing.T, s *intoto.Statement, into proto.Message) {
	raw, err := protojson.Marshal(s.GetPredicate())
	require.NoError(t, err)
	require.NoError(t, protojson.Unmarshal(raw, into))
}
