// Package logtest is the definition of an event log backend: a backend is one when [Run] passes on it.
//
// It fails loudly: every promise of the log has a subtest of its own, and each ends by reading the whole log again.
//
//	func TestBackend(t *testing.T) {
//		logtest.Run(t, func(t *testing.T) logtest.Store { return newStore(t) })
//	}
package logtest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/dalkkak/dkgraph/events"
)

// A Store is a place that backends are opened on, one after the other.
type Store interface {
	// Open opens a backend on what is there. The suite closes it before it opens the next.
	Open(t *testing.T) events.Backend
}

// Run checks every promise of the log on stores made by newStore.
func Run(t *testing.T, newStore func(t *testing.T) Store) {
	for name, check := range map[string]func(*testing.T, *suite){
		"dense and in order":         dense,
		"batch is contiguous":        batch,
		"compare and append":         compareAndAppend,
		"idempotent by origin":       idempotent,
		"other content refused":      originReuse,
		"reading from the middle":    middle,
		"bytes read are the written": sameBytes,
		"follow has no seam":         follow,
		"reopened":                   reopened,
		"too large":                  tooLarge,
		"cancelled":                  cancelled,
		"close":                      closing,
		"concurrent appenders":       concurrent,
		"seals":                      seals,
		"group commit":               groupCommit,
		"proofs and checkpoints":     proofs,
		"export and import":          exported,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			s := &suite{store: newStore(t), newStore: newStore}
			s.create(t)
			check(t, s)
			s.checkAll(t)
		})
	}
}

type suite struct {
	store    Store
	newStore func(t *testing.T) Store
	log      *events.Log
	issuer   *events.Issuer
	origin   string
}

func (s *suite) create(t *testing.T) {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s.origin = events.NewOrigin(time.Now())
	s.issuer = events.NewIssuer(s.origin, key)
	s.log, err = events.Create(t.Context(), s.store.Open(t), s.origin, pub, events.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.log.Close()) })
}

func (s *suite) reopen(t *testing.T) {
	require.NoError(t, s.log.Close())
	log, err := events.Open(t.Context(), s.store.Open(t), events.Options{})
	require.NoError(t, err)
	s.log = log
}

// checkAll opens the log again and reads it whole: dense, chained, and as long as the log said it was.
func (s *suite) checkAll(t *testing.T) {
	s.reopen(t)
	var n uint64
	var prev events.Hash
	for rec, err := range s.log.Read(t.Context(), 1) {
		require.NoError(t, err)
		n++
		require.Equal(t, n, rec.Seq())
		require.Equal(t, prev, rec.Prev())
		require.Equal(t, s.origin, rec.LogOrigin())
		prev = rec.Hash()
	}
	require.Equal(t, events.Head{Seq: n, Hash: prev}, s.log.Head())
	s.checkTree(t)
}

// checkTree opens the log again and compares its tree with one built from its lines by another's code.
func (s *suite) checkTree(t *testing.T) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = stored[x]
		}
		return out, nil
	})
	for rec, err := range s.log.Read(t.Context(), 1) {
		require.NoError(t, err)
		hashes, err := tlog.StoredHashes(int64(rec.Seq()-1), rec.Line(), reader)
		require.NoError(t, err)
		stored = append(stored, hashes...)
		root, err := tlog.TreeHash(int64(rec.Seq()), reader)
		require.NoError(t, err)
		got, err := s.log.TreeAt(t.Context(), rec.Seq())
		require.NoError(t, err)
		require.Equal(t, events.Tree{Size: rec.Seq(), Root: events.Hash(root)}, got)
	}
	whole, err := s.log.TreeAt(t.Context(), s.log.Head().Seq)
	require.NoError(t, err)
	require.Equal(t, whole, s.log.Tree())
}

// Claim drafts a small claim; equal n and turn give equal drafts.
func Claim(t testing.TB, turn string, n int) events.Draft {
	raw := fmt.Sprintf(`{"id":"t%d","claim":"tests pass","kind":"test","verify":"go test ./..."}`, n)
	d, err := events.ClaimMade(events.Claim{
		ClaimID: fmt.Sprintf("t%d", n), Text: "tests pass", Kind: "test", Verify: "go test ./...", Raw: raw,
	}, events.Seen{Agent: "claude", Turn: turn, Session: "s1"})
	require.NoError(t, err)
	return d
}

func claims(t testing.TB, turn string, n int) []events.Draft {
	ds := make([]events.Draft, n)
	for i := range ds {
		ds[i] = Claim(t, turn, i)
	}
	return ds
}

func dense(t *testing.T, s *suite) {
	for i := range 50 {
		recs, added, err := s.log.Append(t.Context(), Claim(t, "dense", i))
		require.NoError(t, err)
		require.Equal(t, 1, added)
		require.EqualValues(t, i+2, recs[0].Seq())
	}
}

func batch(t *testing.T, s *suite) {
	recs, added, err := s.log.Append(t.Context(), claims(t, "batch", 20)...)
	require.NoError(t, err)
	require.Equal(t, 20, added)
	for i, r := range recs {
		require.EqualValues(t, i+2, r.Seq())
	}
	zero := events.Draft{}
	_, _, err = s.log.Append(t.Context(), Claim(t, "torn", 1), zero)
	require.Error(t, err)
	require.EqualValues(t, 21, s.log.Head().Seq, "a batch with a bad draft leaves nothing")
}

func compareAndAppend(t *testing.T, s *suite) {
	_, _, err := s.log.AppendAt(t.Context(), 1, Claim(t, "cas", 1))
	require.NoError(t, err)
	_, _, err = s.log.AppendAt(t.Context(), 1, Claim(t, "cas", 2))
	require.ErrorIs(t, err, events.ErrConflict)
	require.ErrorContains(t, err, "it is at 2")
	require.EqualValues(t, 2, s.log.Head().Seq)
}

func idempotent(t *testing.T, s *suite) {
	first, _, err := s.log.Append(t.Context(), claims(t, "again", 5)...)
	require.NoError(t, err)
	for range 3 {
		recs, added, err := s.log.Append(t.Context(), append(claims(t, "again", 5), Claim(t, "again", 2))...)
		require.NoError(t, err)
		require.Zero(t, added)
		require.Equal(t, first[2].Ref(), recs[5].Ref())
		s.reopen(t)
	}
	elsewhere := Claim(t, "again", 1).InWorkspace("/another/place")
	recs, added, err := s.log.Append(t.Context(), elsewhere)
	require.NoError(t, err, "where a thing was seen is not what it is")
	require.Zero(t, added)
	require.Equal(t, first[1].Ref(), recs[0].Ref())
	found, err := s.log.Find(t.Context(), elsewhere.Origin())
	require.NoError(t, err)
	require.Equal(t, first[1].Ref(), found.Ref())
}

func originReuse(t *testing.T, s *suite) {
	seen := events.Seen{Agent: "claude", Turn: "m1", Session: "s1"}
	c := events.Claim{ClaimID: "t1", Text: "x", Kind: "test", Verify: "true", Raw: "{}"}
	one, err := events.ClaimMade(c, seen)
	require.NoError(t, err)
	recs, _, err := s.log.Append(t.Context(), one)
	require.NoError(t, err)
	c.Text = "read by a newer reader"
	newer, err := events.ClaimMade(c, seen)
	require.NoError(t, err)
	_, added, err := s.log.Append(t.Context(), newer)
	require.NoError(t, err)
	require.Zero(t, added, "the same marker, whatever a reader makes of it")

	gate := events.Gate{Claim: recs[0].Ref(), Ruleset: "r1", Decision: "refuse", Facts: []byte("{}")}
	first, err := s.issuer.GateDecided(gate)
	require.NoError(t, err)
	gate.Decision = "allow"
	second, err := s.issuer.GateDecided(gate)
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), first)
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), Claim(t, "fine", 1), second)
	require.ErrorIs(t, err, events.ErrOriginReuse, "a sealed decision cannot be made otherwise a second time")
	require.EqualValues(t, 3, s.log.Head().Seq)
}

func middle(t *testing.T, s *suite) {
	_, _, err := s.log.Append(t.Context(), claims(t, "mid", 10)...)
	require.NoError(t, err)
	for from := uint64(0); from <= 13; from++ {
		want := max(from, 1)
		for rec, err := range s.log.Read(t.Context(), from) {
			require.NoError(t, err)
			require.Equal(t, want, rec.Seq())
			want++
		}
		require.Equal(t, max(12, from), want)
	}
	_, err = s.log.Get(t.Context(), 99)
	require.ErrorIs(t, err, events.ErrNotFound)
	_, err = s.log.Get(t.Context(), 0)
	require.ErrorIs(t, err, events.ErrNotFound)
}

func sameBytes(t *testing.T, s *suite) {
	odd := "tests <pass> & \u2028 한글 \x01 \xff"
	d, err := events.ClaimMade(events.Claim{ClaimID: "t1", Text: odd, Kind: "test", Verify: "true", Raw: odd},
		events.Seen{Agent: "claude", Turn: "m1", Session: "s1", At: time.Unix(1, 5)})
	require.NoError(t, err)
	recs, _, err := s.log.Append(t.Context(), d)
	require.NoError(t, err)
	s.reopen(t)
	rec, err := s.log.Get(t.Context(), recs[0].Seq())
	require.NoError(t, err)
	require.Equal(t, string(recs[0].Line()), string(rec.Line()))
	require.Equal(t, rec.Hash(), events.LeafHash(rec.Line()))
	require.True(t, json.Valid(rec.Line()))
	require.False(t, bytes.ContainsAny(rec.Line(), "\n\r"))
	_, added, err := s.log.Append(t.Context(), d)
	require.NoError(t, err)
	require.Zero(t, added, "odd bytes must not make a second event")
}

func follow(t *testing.T, s *suite) {
	const n = 200
	_, _, err := s.log.Append(t.Context(), claims(t, "before", n/2)...)
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n / 2 {
			if _, _, err := s.log.Append(t.Context(), Claim(t, "after", i)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	want := uint64(1)
	for rec, err := range s.log.Follow(t.Context(), 1) {
		require.NoError(t, err)
		require.Equal(t, want, rec.Seq())
		if want++; want > n+1 {
			break
		}
	}
	wg.Wait()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range s.log.Follow(ctx, n+2) {
		t.Fatal("nothing follows the end of a cancelled follow")
	}
}

func reopened(t *testing.T, s *suite) {
	var acked []events.Ref
	for i := range 20 {
		recs, _, err := s.log.Append(t.Context(), Claim(t, "reopen", i))
		require.NoError(t, err)
		acked = append(acked, recs[0].Ref())
		if i%5 == 4 {
			s.reopen(t)
		}
	}
	for _, ref := range acked {
		rec, err := s.log.Get(t.Context(), ref.Seq)
		require.NoError(t, err)
		require.Equal(t, ref, rec.Ref())
	}
}

func tooLarge(t *testing.T, s *suite) {
	d, err := events.ClaimMade(events.Claim{ClaimID: "t1", Text: strings.Repeat("x", events.MaxEventBytes), Kind: "test", Verify: "true"},
		events.Seen{Agent: "claude", Turn: "big", Session: "s1"})
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), Claim(t, "big", 1), d)
	require.ErrorIs(t, err, events.ErrTooLarge)
	require.EqualValues(t, 1, s.log.Head().Seq)
	almost, err := events.ClaimMade(events.Claim{ClaimID: "t1", Text: strings.Repeat("x", events.MaxEventBytes-2000), Kind: "test", Verify: "true"},
		events.Seen{Agent: "claude", Turn: "almost", Session: "s1"})
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), almost)
	require.NoError(t, err, "an event just under the limit fits every backend")
}

func cancelled(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.log.Append(ctx, claims(t, "cancelled", 5)...)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, s.log.Head().Seq)
	_, added, err := s.log.Append(t.Context(), claims(t, "cancelled", 5)...)
	require.NoError(t, err, "the log goes on after a cancelled append")
	require.Equal(t, 5, added)
}

func closing(t *testing.T, s *suite) {
	errs := make(chan error, 1)
	go func() { // ends with the sequence, which Close ends
		for _, err := range s.log.Follow(context.Background(), 2) {
			errs <- err
			return
		}
	}()
	require.NoError(t, s.log.Close())
	require.NoError(t, s.log.Close(), "closing twice is fine")
	require.ErrorIs(t, <-errs, events.ErrClosed)
	_, _, err := s.log.Append(t.Context(), Claim(t, "closed", 1))
	require.ErrorIs(t, err, events.ErrClosed)
	_, err = s.log.Get(t.Context(), 1)
	require.ErrorIs(t, err, events.ErrClosed)
}

func concurrent(t *testing.T, s *suite) {
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				// Every second claim is said by all writers at once: it must be recorded once.
				turn := fmt.Sprintf("w%d", w)
				if i%2 == 0 {
					turn = "all"
				}
				if _, _, err := s.log.Append(t.Context(), Claim(t, turn, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1+13+writers*12, s.log.Head().Seq)
}

func seals(t *testing.T, s *suite) {
	recs, _, err := s.log.Append(t.Context(), Claim(t, "seal", 1), Claim(t, "seal", 2))
	require.NoError(t, err)
	gate := func(i *events.Issuer, claim events.Ref) events.Draft {
		d, err := i.GateDecided(events.Gate{Claim: claim, Ruleset: "r1", Decision: "refuse", Facts: []byte("{}")})
		require.NoError(t, err)
		return d
	}
	good, _, err := s.log.Append(t.Context(), gate(s.issuer, recs[0].Ref()))
	require.NoError(t, err)
	require.True(t, good[0].Sealed())

	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	for name, bad := range map[string]struct {
		draft events.Draft
		want  error
	}{
		"another key":         {gate(events.NewIssuer(s.origin, key), recs[1].Ref()), events.ErrUnsealed},
		"no such claim":       {gate(s.issuer, events.Ref{Seq: 99, Hash: recs[1].Hash()}), events.ErrRetargeted},
		"hash of another":     {gate(s.issuer, events.Ref{Seq: recs[0].Seq(), Hash: recs[1].Hash()}), events.ErrRetargeted},
		"not a claim":         {gate(s.issuer, good[0].Ref()), events.ErrRetargeted},
		"no claim whatsoever": {gate(s.issuer, events.Ref{}), events.ErrRetargeted},
	} {
		_, _, err := s.log.Append(t.Context(), bad.draft)
		require.Truef(t, errors.Is(err, bad.want), "%s: %v", name, err)
	}
	require.EqualValues(t, 4, s.log.Head().Seq)
}

// groupCommit has many callers at once, some of them with bad drafts: nobody pays for another's fault, and everybody's
// batch is contiguous.
func groupCommit(t *testing.T, s *suite) {
	const callers = 64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			ds := claims(t, fmt.Sprintf("g%d", c), 3)
			if c%4 == 0 {
				ds = append(ds, events.Draft{})
			}
			recs, added, err := s.log.Append(t.Context(), ds...)
			if c%4 == 0 {
				if !errors.Is(err, events.ErrShape) {
					t.Errorf("want %v, got %v", events.ErrShape, err)
				}
				return
			}
			if err != nil || added != 3 || recs[2].Seq() != recs[0].Seq()+2 {
				t.Errorf("%v: %d added", err, added)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1+callers*3/4*3, s.log.Head().Seq)
}

func proofs(t *testing.T, s *suite) {
	_, _, err := s.log.Append(t.Context(), claims(t, "proof", 20)...)
	require.NoError(t, err)
	old := s.log.Tree()
	signed, err := s.issuer.Checkpoint(old)
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), claims(t, "more", 7)...)
	require.NoError(t, err)
	for rec, err := range s.log.Read(t.Context(), 1) {
		require.NoError(t, err)
		p, err := s.log.Prove(t.Context(), rec.Seq())
		require.NoError(t, err)
		require.NoError(t, p.Check(rec.Line()))
		require.ErrorIs(t, p.Check(append(rec.Line(), ' ')), events.ErrProof)
		p.Seq++
		require.Error(t, p.Check(rec.Line()))
	}
	vkey, err := s.log.VerifierKey()
	require.NoError(t, err)
	origin, tree, err := events.OpenCheckpoint(vkey, signed)
	require.NoError(t, err)
	require.Equal(t, s.origin, origin)
	require.Equal(t, old, tree)
	require.NoError(t, s.log.Extends(t.Context(), tree))
	require.ErrorIs(t, s.log.Extends(t.Context(), events.Tree{Size: 99, Root: old.Root}), events.ErrRewound)
	require.ErrorIs(t, s.log.Extends(t.Context(), events.Tree{Size: 5, Root: old.Root}), events.ErrForked)
	for i := range len(signed) - 4 { // the last digits hold bits that mean nothing
		bad := bytes.Clone(signed)
		bad[i] ^= 1
		if _, _, err := events.OpenCheckpoint(vkey, bad); err == nil {
			t.Fatalf("a checkpoint with byte %d changed still opens", i)
		}
	}
}

// exported checks that an import is the export's log to the byte, and that an export cut or changed anywhere is none.
func exported(t *testing.T, s *suite) {
	recs, _, err := s.log.Append(t.Context(), claims(t, "export", 12)...)
	require.NoError(t, err)
	d, err := s.issuer.GateDecided(events.Gate{Claim: recs[3].Ref(), Ruleset: "r1", Decision: "refuse", Facts: []byte("{}")})
	require.NoError(t, err)
	_, _, err = s.log.Append(t.Context(), d)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, s.log.Export(t.Context(), &file, 1, 0, s.issuer.Checkpoint))

	var wg sync.WaitGroup // an export while others write is as of its beginning
	wg.Go(func() {
		for i := range 50 {
			if _, _, err := s.log.Append(t.Context(), Claim(t, "meanwhile", i)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		var busy bytes.Buffer
		require.NoError(t, s.log.Export(t.Context(), &busy, 1, 0, s.issuer.Checkpoint))
		_, err := events.Import(t.Context(), s.another(t), &busy)
		require.NoError(t, err)
	}
	wg.Wait()
	file.Reset()
	require.NoError(t, s.log.Export(t.Context(), &file, 1, 0, s.issuer.Checkpoint))

	b := s.another(t)
	tree, err := events.Import(t.Context(), b, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Equal(t, s.log.Tree(), tree)
	copied, err := events.Open(t.Context(), b, events.Options{})
	require.NoError(t, err)
	require.Equal(t, s.log.Head(), copied.Head())
	var again bytes.Buffer
	require.NoError(t, copied.Export(t.Context(), &again, 1, 0, s.issuer.Checkpoint))
	require.Equal(t, file.String(), again.String())
	_, added, err := copied.Append(t.Context(), claims(t, "export", 12)...)
	require.NoError(t, err)
	require.Zero(t, added, "origin keys are known in the copy, too")
	require.NoError(t, copied.Close())

	whole := file.Bytes()
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/15 {
		_, err := events.Import(t.Context(), s.another(t), bytes.NewReader(whole[:cut]))
		require.Errorf(t, err, "cut after %d bytes", cut)
		require.ErrorContains(t, err, "line ")
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for i := 0; i < len(lines)-2; i += 5 {
		swapped := slices.Clone(lines)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		_, err := events.Import(t.Context(), s.another(t), bytes.NewReader(bytes.Join(swapped, nil)))
		require.Errorf(t, err, "lines %d and %d swapped", i+1, i+2)
		missing := slices.Delete(slices.Clone(lines), i, i+1)
		_, err = events.Import(t.Context(), s.another(t), bytes.NewReader(bytes.Join(missing, nil)))
		require.Errorf(t, err, "line %d missing", i+1)
	}
}

// another opens a backend on a store of its own, closed with the test.
func (s *suite) another(t *testing.T) events.Backend {
	b := s.newStore(t).Open(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}
