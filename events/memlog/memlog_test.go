package memlog_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/logtest"
	"github.com/dalkkak/dkgraph/events/memlog"
)

type store struct{ *memlog.Store }

func (s store) Open(*testing.T) events.Backend { return s.Store.Open() }

func TestBackend(t *testing.T) {
	logtest.Run(t, func(*testing.T) logtest.Store { return store{memlog.NewStore()} })
}

// A forgetful backend keeps the first append alone, and none is answered before release is closed.
type forgetful struct {
	events.Backend
	release chan struct{}
}

func (f forgetful) Append(ctx context.Context, after uint64, entries []events.Entry) error {
	if after == 0 {
		return f.Backend.Append(ctx, after, entries)
	}
	<-f.release
	return nil
}

// A queue that has to be split into more batches than conflicts are tolerated is written to its end.
func TestManyFullBatchesAreNoConflict(t *testing.T) {
	const appends = 130
	b := forgetful{memlog.NewStore().Open(), make(chan struct{})}
	l, err := events.Create(t.Context(), b, "full", make(ed25519.PublicKey, ed25519.PublicKeySize), events.Options{})
	require.NoError(t, err)
	text := strings.Repeat("x", 600_000)
	errs := make([]error, appends)
	var ready, done sync.WaitGroup
	for i := range appends {
		var drafts []events.Draft
		for j := range 2 { // together more than one batch takes
			d, err := events.ClaimMade(events.Claim{ClaimID: fmt.Sprint(i, j), Kind: "test", Verify: "true", Text: text}, events.Seen{Agent: "a", Turn: fmt.Sprint(i, " ", j)})
			require.NoError(t, err)
			drafts = append(drafts, d)
		}
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			_, _, errs[i] = l.Append(t.Context(), drafts...)
		})
	}
	ready.Wait()
	close(b.release)
	done.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
}
