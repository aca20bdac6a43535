package events_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/logtest"
	"github.com/dalkkak/dkgraph/events/memlog"
)

// A world is a log with a claim and a receipt in it.
type world struct {
	store  *memlog.Store
	log    *events.Log
	issuer *events.Issuer
	claim  events.Record
}

func newWorld(t *testing.T) *world {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	w := &world{store: memlog.NewStore()}
	origin := events.NewOrigin(time.Now())
	w.issuer = events.NewIssuer(origin, key)
	w.log, err = events.Create(t.Context(), w.store.Open(), origin, pub, events.Options{})
	require.NoError(t, err)
	recs, _, err := w.log.Append(t.Context(), logtest.Claim(t, "m1", 1), logtest.Claim(t, "m1", 2))
	require.NoError(t, err)
	w.claim = recs[0]
	return w
}

func (w *world) receipt(t *testing.T, verdict events.Verdict) events.Record {
	add := func(d events.Draft, err error) events.Record {
		require.NoError(t, err)
		recs, _, err := w.log.Append(t.Context(), d)
		require.NoError(t, err)
		return recs[0]
	}
	claim := w.claim.Ref()
	gate := add(w.issuer.GateDecided(events.Gate{Claim: claim, Ruleset: "r1", Decision: "allow", Facts: []byte("{}")})).Ref()
	run := add(w.issuer.RunObserved(events.Run{Claim: claim, Gate: gate, Ruleset: "r1"})).Ref()
	return add(w.issuer.ReceiptIssued(events.Receipt{
		Claim: claim, Gate: &gate, Run: &run, Verdict: verdict, Reason: "as_claimed", Ruleset: "r1", Mode: "live",
	}))
}

// readAll reads the log as a new process would.
func (w *world) readAll(t *testing.T) error {
	log, err := events.Open(t.Context(), w.store.Open(), events.Options{})
	if err != nil {
		return err
	}
	for _, err := range log.Read(t.Context(), 1) {
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite changes the line of an event and stores it with the right hash, as somebody who knows the format would.
func (w *world) rewrite(seq uint64, change func(string) string) {
	w.store.Tamper(seq, func(data []byte) []byte { return relined(data, func(line string) string { return change(line) }) })
}

// relined changes the line within what a backend keeps, and gives it the right hash. Between hash and line stand a count
// and so many nodes of the tree.
func relined(data []byte, change func(string) string) []byte {
	at := 33 + 32*int(data[32])
	line := []byte(change(string(data[at:])))
	hash := events.LeafHash(line)
	return slices.Concat(hash[:], data[32:at], line)
}

// rewritten is what a backend would keep for r under another origin key and in another place.
func (w *world) rewritten(r events.Record, origin string, seq uint64, prev string) []byte {
	line := string(r.Line())
	line = strings.Replace(line, r.Origin().String(), origin, 1)
	line = strings.Replace(line, fmt.Sprintf(`"seq":%d`, r.Seq()), fmt.Sprintf(`"seq":%d`, seq), 1)
	line = strings.Replace(line, r.Prev().String(), prev, 1)
	hash := events.LeafHash([]byte(line))
	return slices.Concat(hash[:], []byte{0}, []byte(line))
}

func TestKindsAreFrozen(t *testing.T) {
	golden, err := os.ReadFile("testdata/kinds.golden")
	require.NoError(t, err)
	var lines []string
	for _, k := range events.Kinds() {
		sealed := "open"
		if k.Sealed() {
			sealed = "sealed"
		}
		lines = append(lines, string(k)+" "+sealed)
	}
	require.Equal(t, string(golden), strings.Join(lines, "\n")+"\n", "kinds are stored in every log: add, never change")
}

func TestEditedDatabaseShows(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*world, events.Record)
		want error
		seq  string
	}{
		"a flipped bit": {func(w *world, r events.Record) {
			w.store.Tamper(2, func(b []byte) []byte { b[len(b)-100] ^= 1; return b })
		}, events.ErrCorrupt, "event 2"},
		"an event cut short": {func(w *world, r events.Record) {
			w.store.Tamper(2, func(b []byte) []byte { return b[:20] })
		}, events.ErrCorrupt, "event 2"},
		"a verdict changed": {func(w *world, r events.Record) {
			w.rewrite(r.Seq(), func(s string) string { return strings.Replace(s, `"failed"`, `"verified"`, 1) })
		}, events.ErrUnsealed, "event 6"},
		"a seal taken off": {func(w *world, r events.Record) {
			w.rewrite(r.Seq(), func(s string) string { return s[:strings.Index(s, `,"seal"`)] + "}" })
		}, events.ErrUnsealed, "event 6"},
		"a receipt moved to another claim": {func(w *world, r events.Record) {
			w.rewrite(r.Seq(), func(s string) string { return strings.ReplaceAll(s, w.claim.Hash().String(), events.Sum(nil).String()) })
		}, events.ErrUnsealed, "event 6"},
		"a claim changed under its receipt": {func(w *world, r events.Record) {
			w.rewrite(2, func(s string) string { return strings.Replace(s, "tests pass", "tests fail", 1) })
		}, events.ErrChain, "event 3"},
		"an event in another's place": {func(w *world, r events.Record) {
			w.rewrite(3, func(s string) string { return strings.Replace(s, `"seq":3`, `"seq":9`, 1) })
		}, events.ErrCorrupt, "event 3"},
		"a receipt said again under another key": {func(w *world, r events.Record) {
			again := w.rewritten(r, events.Sum([]byte("another")).String(), r.Seq()+1, r.Hash().String())
			if err := w.store.Open().Append(t.Context(), r.Seq(), []events.Entry{{Data: again}}); err != nil { // in ten appends one is refused
				panic(err)
			}
		}, events.ErrUnsealed, "event 7"},
		"another key in the first event": {func(w *world, r events.Record) {
			pub, _, err := ed25519.GenerateKey(nil)
			if err != nil {
				panic(err)
			}
			w.rewrite(1, func(s string) string {
				var e map[string]any
				_ = json.Unmarshal([]byte(s), &e)
				e["payload"].(map[string]any)["public_key"] = []byte(pub)
				b, _ := json.Marshal(e)
				return string(b)
			})
		}, events.ErrUnsealed, "event 6"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			w := newWorld(t)
			r := w.receipt(t, events.Failed)
			require.NoError(t, w.readAll(t))
			c.edit(w, r)
			err := w.readAll(t)
			require.Truef(t, errors.Is(err, c.want), "%v", err)
			require.ErrorContains(t, err, c.seq)
		})
	}
}

// Whoever rewrites an event and chains the tail again without the key is stopped by the next seal, which covers the claim.
func TestReChainedTailShowsAtTheSeal(t *testing.T) {
	w := newWorld(t)
	w.receipt(t, events.Failed)
	var prev, rewritten events.Hash
	for seq := uint64(2); seq <= 6; seq++ {
		old := prev
		w.rewrite(seq, func(line string) string {
			if seq == 2 {
				line = strings.Replace(line, "tests pass", "tests fail", 1)
			} else {
				var e struct {
					Prev string `json:"prev"`
				}
				_ = json.Unmarshal([]byte(line), &e)
				line = strings.Replace(line, e.Prev, old.String(), 1)
			}
			if seq >= 4 { // point gate, run and receipt at the new claim
				line = strings.ReplaceAll(line, w.claim.Hash().String(), rewritten.String())
			}
			prev = events.LeafHash([]byte(line))
			return line
		})
		if seq == 2 {
			rewritten = prev
		}
	}
	require.ErrorIs(t, w.readAll(t), events.ErrUnsealed)
}

func TestZeroAndForgedValuesAreRefused(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.log.Append(t.Context(), events.Draft{})
	require.ErrorIs(t, err, events.ErrShape)
	require.True(t, events.Record{}.IsZero())

	var rec events.Record
	unmarshal := func(text string, v any) { require.NoError(t, json.Unmarshal([]byte(text), v)) }
	unmarshal(`{"seq":1,"kind":"receipt.issued","env":{"seq":1}}`, &rec)
	require.True(t, rec.IsZero(), "a record cannot be unmarshalled into being")
	var d events.Draft
	unmarshal(`{"kind":"receipt.issued","payload":"e30="}`, &d)
	_, _, err = w.log.Append(t.Context(), d)
	require.ErrorIs(t, err, events.ErrShape, "nor can a draft")

	_, err = (*events.Issuer)(nil).ReceiptIssued(events.Receipt{Verdict: events.Verified})
	require.Error(t, err)
	ref := w.claim.Ref()
	_, err = w.issuer.ReceiptIssued(events.Receipt{Claim: ref, Gate: &ref, Run: &ref})
	require.Error(t, err, "the zero verdict is none")
	_, err = w.issuer.ReceiptIssued(events.Receipt{Claim: ref, Gate: &ref, Verdict: events.Verified})
	require.Error(t, err, "nothing was run")
}

func TestStoreOnlyTypes(t *testing.T) {
	for _, typ := range []string{"v\u0435rification_receipt", "receipt s", "\u2060run"} { // a Cyrillic e among them
		_, err := events.NodeNoted(events.Node{NodeType: typ, Title: "x", Provenance: "inferred"}, events.Seen{})
		require.Errorf(t, err, "%q", typ)
	}
	for _, typ := range []string{"verification_receipt", "Verification-Receipt", "verification\u200breceipt", "RECEIPT", "run", "gate_decision", "change", "claim"} {
		_, err := events.NodeNoted(events.Node{NodeType: typ, Title: "x", Provenance: "inferred"}, events.Seen{})
		require.ErrorIsf(t, err, events.ErrStoreOnly, "%q", typ)
	}
	for _, typ := range []string{"issue", "decision", "structure", "identity", "flow", "metric", "lesson"} {
		_, err := events.NodeNoted(events.Node{NodeType: typ, Title: "x", Provenance: "inferred"}, events.Seen{})
		require.NoErrorf(t, err, "%q", typ)
	}
	_, err := events.NodeNoted(events.Node{NodeType: "issue", Title: "x", Provenance: "confirmed"}, events.Seen{})
	require.ErrorIs(t, err, events.ErrNoEvidence)
	_, err = events.NodeNoted(events.Node{NodeType: "issue", Title: "x", Provenance: "inferred", Edges: []events.NodeEdge{{Kind: "attests", To: "y"}}}, events.Seen{})
	require.ErrorIs(t, err, events.ErrShape, "an agent does not name the store's edges")
}

// For any history: what is read is what was appended, once each, and nothing a reader sees depends on how it was batched.
func TestAnyHistoryReadsBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		want := map[events.Hash]bool{}
		for range rapid.IntRange(0, 8).Draw(rt, "batches") {
			var ds []events.Draft
			for range rapid.IntRange(0, 6).Draw(rt, "size") {
				d := logtest.Claim(t, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "turn"), rapid.IntRange(0, 9).Draw(rt, "n"))
				want[d.Origin()] = true
				ds = append(ds, d)
			}
			recs, _, err := w.log.Append(t.Context(), ds...)
			require.NoError(t, err)
			for i, r := range recs {
				require.Equal(t, ds[i].Origin(), r.Origin())
			}
		}
		got := map[events.Hash]bool{}
		for rec, err := range w.log.Read(t.Context(), 4) {
			require.NoError(t, err)
			require.False(t, got[rec.Origin()], "once each")
			got[rec.Origin()] = true
		}
		require.Equal(t, want, got)
	})
}

// An event may hold members a later version added: they survive, as its bytes do.
func TestUnknownMembersSurvive(t *testing.T) {
	w := newWorld(t)
	w.rewrite(3, func(s string) string { return strings.Replace(s, `"v":1`, `"v":1,"later":{"x":[1,2]}`, 1) })
	rec, err := w.log.Get(t.Context(), 3)
	require.NoError(t, err)
	require.Contains(t, string(rec.Line()), `"later":{"x":[1,2]}`)
	w.rewrite(3, func(s string) string { return strings.Replace(s, `"v":1`, `"v":99`, 1) })
	_, err = w.log.Get(t.Context(), 3)
	require.ErrorIs(t, err, events.ErrFormat)
}

func FuzzEntry(f *testing.F) {
	w := memlog.NewStore()
	pub, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	log, err := events.Create(f.Context(), w.Open(), "dkgraph/x", pub, events.Options{})
	if err != nil {
		f.Fatal(err)
	}
	rec, err := log.Get(f.Context(), 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(rec.Line(), true)
	f.Add([]byte(`{"seq":1,"kind":"log.created","payload":{}}`), true)
	f.Add([]byte(`{`), false)
	f.Fuzz(func(t *testing.T, line []byte, hashed bool) {
		store := memlog.NewStore()
		b := store.Open()
		hash := events.LeafHash(line)
		if !hashed {
			hash[0] ^= 1
		}
		require.NoError(t, b.Append(t.Context(), 0, []events.Entry{{Data: slices.Concat(hash[:], []byte{0}, line)}}))
		log, err := events.Open(t.Context(), b, events.Options{})
		if err != nil {
			return
		}
		require.True(t, hashed, "an entry with another hash is never read")
		rec, err := log.Get(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, bytes.Equal(line, rec.Line()))
	})
}

// A flaky backend fails every commit from the nth on, after or before it wrote.
type flaky struct {
	events.Backend
	writes bool
	left   int
}

var errDisk = errors.New("disk on fire")

func (f *flaky) Append(ctx context.Context, after uint64, entries []events.Entry) error {
	if f.left--; f.left >= 0 {
		return f.Backend.Append(ctx, after, entries)
	}
	if f.writes {
		for { // the memory backend refuses one in ten
			if err := f.Backend.Append(ctx, after, entries); !errors.Is(err, events.ErrConflict) {
				break
			}
		}
	}
	return errDisk
}

// After a commit whose outcome is not known the log takes no more; opened again, the same drafts give one answer, whichever
// way it went.
func TestUnknownOutcomeIsResolvedByARetry(t *testing.T) {
	for _, wrote := range []bool{true, false} {
		pub, _, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		store := memlog.NewStore()
		b := &flaky{Backend: store.Open(), writes: wrote, left: 2}
		log, err := events.Create(t.Context(), b, events.NewOrigin(time.Now()), pub, events.Options{})
		require.NoError(t, err)
		_, _, err = log.Append(t.Context(), logtest.Claim(t, "m", 1))
		require.NoError(t, err)
		_, _, err = log.Append(t.Context(), logtest.Claim(t, "m", 2), logtest.Claim(t, "m", 3))
		require.ErrorIs(t, err, events.ErrUnknownOutcome)
		require.ErrorIs(t, err, errDisk)
		_, _, err = log.Append(t.Context(), logtest.Claim(t, "m", 4))
		require.ErrorIs(t, err, events.ErrUnknownOutcome, "nothing more until it is opened again")
		require.EqualValues(t, 2, log.Head().Seq)
		require.NoError(t, log.Close())

		log, err = events.Open(t.Context(), store.Open(), events.Options{})
		require.NoError(t, err)
		recs, added, err := log.Append(t.Context(), logtest.Claim(t, "m", 2), logtest.Claim(t, "m", 3))
		require.NoError(t, err)
		require.Equal(t, map[bool]int{true: 0, false: 2}[wrote], added)
		require.EqualValues(t, 3, recs[0].Seq())
		require.EqualValues(t, 4, recs[1].Seq())
	}
}

// A gapped backend leaves an entry out.
type gapped struct {
	events.Backend
	missing uint64
}

func (g gapped) Read(ctx context.Context, from uint64) iter.Seq2[events.Entry, error] {
	return func(yield func(events.Entry, error) bool) {
		for e, err := range g.Backend.Read(ctx, from) {
			if e.Pos != g.missing && !yield(e, err) {
				return
			}
		}
	}
}

func TestAMissingEventIsNamed(t *testing.T) {
	w := newWorld(t)
	w.receipt(t, events.Failed)
	log, err := events.Open(t.Context(), gapped{w.store.Open(), 3}, events.Options{})
	require.NoError(t, err)
	var last uint64
	for rec, rerr := range log.Read(t.Context(), 1) {
		if err = rerr; err == nil {
			last = rec.Seq()
		}
	}
	require.ErrorIs(t, err, events.ErrGap)
	require.ErrorContains(t, err, "event 3")
	require.EqualValues(t, 2, last, "nothing is read past the gap")
}
