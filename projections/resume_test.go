package projections

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// Cut short at any step, a claim is taken up where it was: nothing is decided or run a second time.
func TestTakenUpAfterACrash(t *testing.T) {
	ctx := t.Context()
	for _, steps := range []int{0, 1, 2, 3} {
		repo, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		store := filepath.Join(t.TempDir(), "store")
		require.NoError(t, os.WriteFile(filepath.Join(repo, "a.txt"), []byte("hello\n"), 0o600))
		p, err := Open(ctx, store, Options{Roots: []string{repo}})
		require.NoError(t, err)
		line := `{"type":"assistant","uuid":"u","sessionId":"s","cwd":"` + repo + `","message":{"id":"m","role":"assistant","content":[{"type":"text","text":` +
			`"<dk-verify>{\"id\":\"t1\",\"claim\":\"greets\",\"kind\":\"command\",\"verify\":\"grep -q hello a.txt\"}</dk-verify>"}]}}` + "\n"
		in, err := p.Ingest(ctx, strings.NewReader(line), "s.jsonl")
		require.NoError(t, err)
		require.Len(t, in.Claims, 1)
		p.goSteps(t, in.Claims[0], steps)
		require.NoError(t, p.Close())

		p, err = Open(ctx, store, Options{Roots: []string{repo}})
		require.NoError(t, err)
		results, err := p.Verify(ctx, in.Claims, VerifyOptions{})
		require.NoError(t, err)
		require.Equal(t, "verified", results[0].Receipt.Type)
		kinds := make(map[events.Kind]int)
		for rec, err := range p.Log().Read(ctx, 1) {
			require.NoError(t, err)
			kinds[rec.Kind()]++
		}
		require.Equal(t, 1, kinds[events.KindRulesActivated], steps)
		require.Equal(t, 1, kinds[events.KindGateDecided], steps)
		require.Equal(t, 1, kinds[events.KindRunObserved], steps)
		require.Equal(t, 1, kinds[events.KindReceiptIssued], steps)
		require.NoError(t, p.Close())
	}
}

// goSteps does the first steps of verifying a claim, as a process that dies after them.
func (p *Projector) goSteps(t *testing.T, id events.ID, steps int) {
	c, err := p.load(id)
	require.NoError(t, err)
	for _, step := range []func() error{
		func() error { return p.activate(t.Context()) },
		func() error { return p.decide(t.Context(), c) },
		func() error { return p.observe(t.Context(), c, VerifyOptions{}) },
	}[:steps] {
		require.NoError(t, step())
	}
}
