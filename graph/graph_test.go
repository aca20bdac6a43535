package graph_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/memlog"
	"github.com/dalkkak/dkgraph/graph"
)

type world struct {
	log    *events.Log
	issuer *events.Issuer
	graph  *graph.Graph
	dir    string
}

func newWorld(t testing.TB) *world {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	origin := events.NewOrigin(time.Now())
	log, err := events.Create(context.Background(), memlog.NewStore().Open(), origin, pub, events.Options{})
	require.NoError(t, err)
	w := &world{log: log, issuer: events.NewIssuer(origin, key), dir: filepath.Join(tempDir(t), "graph")}
	w.graph = openGraph(t, w.dir, origin)
	w.fold(t)
	return w
}

// tempDir is a folder that goes with the test; rapid's T has none of its own.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "graph")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func openGraph(t testing.TB, dir, origin string) *graph.Graph {
	g, err := graph.Open(dir, origin)
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func (w *world) append(t testing.TB, d events.Draft, err error) events.Record {
	require.NoError(t, err)
	recs, _, err := w.log.Append(context.Background(), d)
	require.NoError(t, err)
	w.fold(t)
	return recs[0]
}

func (w *world) fold(t testing.TB) {
	foldTo(t, w.log, w.graph, w.log.Head().Seq)
}

func foldTo(t testing.TB, log *events.Log, g *graph.Graph, end uint64) {
	for rec, err := range log.Read(context.Background(), g.Seq()+1) {
		require.NoError(t, err)
		if rec.Seq() > end {
			return
		}
		require.NoError(t, g.Apply(rec))
	}
}

func seen(turn string) events.Seen {
	return events.Seen{Agent: "claude", Session: "s1", Turn: turn, CWD: "/w", Workspace: "/w", At: time.Unix(1700000000, 0)}
}

func (w *world) claim(t testing.TB, turn, id, verify string, about ...string) events.Record {
	d, err := events.ClaimMade(events.Claim{
		ClaimID: id, Text: "it works", Kind: "test", Verify: verify, About: about, Raw: turn + id + verify,
	}, seen(turn))
	return w.append(t, d, err)
}

func (w *world) note(t testing.TB, turn, key, title string, edges ...events.NodeEdge) events.Record {
	d, err := events.NodeNoted(events.Node{
		NodeType: "issue", Key: key, Title: title, Provenance: "inferred", Edges: edges, Raw: turn + key + title,
	}, seen(turn))
	return w.append(t, d, err)
}

func (w *world) judge(t testing.TB, claim events.Record, v events.Verdict, n int) events.Record {
	ruleset := fmt.Sprintf("r%d", n)
	d, err := w.issuer.GateDecided(events.Gate{Claim: claim.Ref(), Ruleset: ruleset, Decision: "allow", Facts: []byte("{}")})
	gate := w.append(t, d, err)
	d, err = w.issuer.RunObserved(events.Run{Claim: claim.Ref(), Gate: gate.Ref(), Ruleset: ruleset, Started: time.Unix(int64(n), 0)})
	run := w.append(t, d, err)
	g, r := gate.Ref(), run.Ref()
	d, err = w.issuer.ReceiptIssued(events.Receipt{
		Claim: claim.Ref(), Gate: &g, Run: &r, Verdict: v, Reason: "as_claimed", Ruleset: ruleset, Mode: "live",
	})
	return w.append(t, d, err)
}

func titles(t *testing.T, v *graph.View, edges func(func(graph.Edge) bool), far func(graph.Edge) events.ID) []string {
	var out []string
	for e := range edges {
		n, err := v.Node(far(e))
		require.NoError(t, err)
		out = append(out, n.Title)
	}
	return out
}

func to(e graph.Edge) events.ID   { return e.To }
func from(e graph.Edge) events.ID { return e.From }

func TestReceiptIsLinkedToClaimAndMemory(t *testing.T) {
	w := newWorld(t)
	early := w.claim(t, "m1", "t1", "go test", "login", "issue/late")
	w.note(t, "m1", "login", "login is broken")
	w.note(t, "m2", "other", "of another message")
	w.note(t, "m3", "late", "noted later")
	w.judge(t, early, events.Verified, 1)

	v := w.graph.View()
	defer v.Close()
	claim, err := v.Made(early.Seq())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"login is broken", "noted later"}, titles(t, v, v.Out(claim.ID, graph.EdgeAbout), to))
	receipt, err := v.Receipt(claim.ID)
	require.NoError(t, err)
	require.Equal(t, "verified", receipt.Type)
	require.ElementsMatch(t, []string{"login is broken", "noted later"}, titles(t, v, v.Out(receipt.ID, graph.EdgeAttests), to))

	why, err := v.Why(receipt)
	require.NoError(t, err)
	require.Equal(t, claim.ID, why.Claim.ID)
	require.NotNil(t, why.Run)
	require.NotNil(t, why.Gate)
	require.Equal(t, "m1", why.Message.Name)
	require.Equal(t, "s1", why.Session.Name)
	require.Equal(t, "claude", why.Agent.Name)
}

func TestWithoutAboutTheSameMessageCounts(t *testing.T) {
	w := newWorld(t)
	w.note(t, "m1", "a", "of the same message")
	w.note(t, "m2", "b", "of another")
	c := w.claim(t, "m1", "t1", "go test")
	w.judge(t, c, events.Failed, 1)
	v := w.graph.View()
	defer v.Close()
	claim, err := v.Made(c.Seq())
	require.NoError(t, err)
	receipt, err := v.Receipt(claim.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"of the same message"}, titles(t, v, v.Out(receipt.ID, graph.EdgeAttests), to))
}

func TestThreads(t *testing.T) {
	w := newWorld(t)
	first := w.claim(t, "m1", "t1", "go test")
	same := w.claim(t, "m2", "t1", "go test")
	other := w.claim(t, "m3", "t1", "true")
	w.judge(t, first, events.Verified, 1)
	v := w.graph.View()
	defer v.Close()
	a, _ := v.Made(first.Seq())
	b, _ := v.Made(same.Seq())
	c, err := v.Made(other.Seq())
	require.NoError(t, err)
	for e := range v.Out(b.ID, graph.EdgeReasserts) {
		require.Equal(t, a.ID, e.To)
	}
	for e := range v.Out(c.ID, graph.EdgeSupersedes) {
		require.Equal(t, b.ID, e.To)
	}
	_, err = v.Receipt(b.ID)
	require.ErrorIs(t, err, graph.ErrNotFound, "a verdict is not inherited")
	n, err := v.Resolve("t1")
	require.NoError(t, err)
	require.Equal(t, c.ID, n.ID, "the newest one by that name")
}

func TestMemoryLineage(t *testing.T) {
	w := newWorld(t)
	w.note(t, "m0", "", "waits", events.NodeEdge{Kind: "depends", To: "db"})
	w.note(t, "m1", "db", "uses sqlite")
	w.note(t, "m2", "db", "uses sqlite")
	w.note(t, "m3", "db", "uses badger")
	v := w.graph.View()
	defer v.Close()
	nodes, err := v.Named(graph.KindMemory, "/w", "issue/db")
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	require.Equal(t, "uses badger", nodes[0].Title)
	require.Equal(t, []string{"uses sqlite"}, titles(t, v, v.Out(nodes[0].ID, graph.EdgeSupersedes), to))
	require.Equal(t, []string{"uses sqlite"}, titles(t, v, v.Out(nodes[1].ID, graph.EdgeReasserts), to))
	require.Equal(t, []string{"waits"}, titles(t, v, v.In(nodes[2].ID, graph.EdgeDepends), from))
}

// Whatever a transcript says, an event that the log took must fold: a store that cannot be opened is a store that is lost.
func TestWhatTheLogTakesFolds(t *testing.T) {
	w := newWorld(t)
	batch := func(n int, draft func(i int) (events.Draft, error)) []events.Record {
		var ds []events.Draft
		for i := range n {
			d, err := draft(i)
			require.NoError(t, err)
			ds = append(ds, d)
		}
		recs, _, err := w.log.Append(t.Context(), ds...)
		require.NoError(t, err)
		w.fold(t)
		return recs
	}
	// Very many claims that wait for one name, very many nodes of one message, and the longest lists there may be.
	waiting := batch(3000, func(i int) (events.Draft, error) {
		return events.ClaimMade(events.Claim{ClaimID: fmt.Sprint(i), Text: "x", Kind: "test", Verify: "x", About: []string{"x", "x"}, Raw: fmt.Sprint(i)}, seen("many"))
	})
	batch(3000, func(i int) (events.Draft, error) {
		return events.NodeNoted(events.Node{NodeType: "issue", Title: "x", Provenance: "inferred", Raw: fmt.Sprint("n", i)}, seen("many"))
	})
	names := make([]string, events.MaxLinks)
	edges := make([]events.NodeEdge, events.MaxLinks)
	for i := range names {
		names[i], edges[i] = fmt.Sprint("k", i), events.NodeEdge{Kind: "relates", To: fmt.Sprint("k", i)}
	}
	w.note(t, "many", "x", "the node they wait for", edges...)
	w.judge(t, waiting[0], events.Verified, 1)
	w.judge(t, w.claim(t, "many", "all", "x", names...), events.Verified, 2)
	w.judge(t, w.claim(t, "many", "none", "x"), events.Verified, 3)
	_, err := events.ClaimMade(events.Claim{ClaimID: "t", Text: "x", Kind: "test", Verify: "x", About: append(names, "one more")}, seen("m"))
	require.ErrorIs(t, err, events.ErrOversize)
	_, err = events.NodeNoted(events.Node{NodeType: "issue", Title: "x", Provenance: "inferred", Edges: append(edges, edges[0])}, seen("m"))
	require.ErrorIs(t, err, events.ErrOversize)
	// The largest event, of characters that JSON in HTML would write in six bytes.
	d, err := events.ClaimMade(events.Claim{ClaimID: "big", Text: strings.Repeat("<", events.MaxEventBytes-2000), Kind: "test", Verify: "x"}, seen("big"))
	big := w.append(t, d, err)
	v := w.graph.View()
	defer v.Close()
	n, err := v.Made(big.Seq())
	require.NoError(t, err)
	require.Equal(t, string(big.Payload()), string(n.Body), "the payload is kept to the byte")
}

func TestAnAgentsNameDoesNotShadowAnID(t *testing.T) {
	w := newWorld(t)
	bad := w.claim(t, "m1", "t1", "go test")
	v := w.graph.View()
	n, err := v.Made(bad.Seq())
	require.NoError(t, err)
	v.Close()
	w.claim(t, "m2", n.ID.String(), "true")
	v = w.graph.View()
	defer v.Close()
	got, err := v.Resolve(n.ID.String())
	require.NoError(t, err)
	require.Equal(t, n.ID, got.ID)
}

func TestAFolderThatIsNoGraphIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	_, err := graph.Open(dir, "dkgraph/x")
	require.ErrorIs(t, err, graph.ErrNotGraph)
	require.FileExists(t, filepath.Join(dir, "thesis.txt"))
	_, err = graph.Open(filepath.Join(dir, "thesis.txt"), "dkgraph/x")
	require.Error(t, err)
	require.FileExists(t, filepath.Join(dir, "thesis.txt"))
}

func TestWhatApplyRefuses(t *testing.T) {
	w := newWorld(t)
	c := w.claim(t, "m1", "t1", "go test")
	require.ErrorIs(t, w.graph.Apply(events.Record{}), graph.ErrForeign)
	require.ErrorIs(t, w.graph.Apply(c), graph.ErrOrder)
	other := newWorld(t)
	rec := other.claim(t, "m1", "t1", "go test")
	require.ErrorIs(t, w.graph.Apply(rec), graph.ErrForeign)
	require.Equal(t, w.log.Head().Seq, w.graph.Seq(), "a refusal changes nothing")
}

func TestPendingAndPrefixes(t *testing.T) {
	w := newWorld(t)
	a := w.claim(t, "m1", "t1", "go test")
	b := w.claim(t, "m2", "t2", "go vet")
	w.judge(t, a, events.Verified, 1)
	v := w.graph.View()
	defer v.Close()
	var pending []string
	for n, err := range v.Pending() {
		require.NoError(t, err)
		pending = append(pending, n.Name)
	}
	require.Equal(t, []string{"t2"}, pending)
	n, err := v.Made(b.Seq())
	require.NoError(t, err)
	id := n.ID.String()
	for _, ref := range []string{id, id[:25], "t2", fmt.Sprintf("#%d", b.Seq())} {
		got, err := v.Resolve(ref)
		require.NoErrorf(t, err, "%q", ref)
		require.Equal(t, n.ID, got.ID)
	}
	_, err = v.Resolve(id[:8])
	require.ErrorIs(t, err, graph.ErrAmbiguous, "claims of one moment share the beginning of their ids")
	for _, ref := range []string{"", "t", "nosuch", "ZZZZZZZZ", "#999", "01", id + "0"} {
		_, err = v.Resolve(ref)
		require.ErrorIsf(t, err, graph.ErrNotFound, "%q", ref)
	}
}

func TestAnotherLogsFolderIsBuiltAgain(t *testing.T) {
	w := newWorld(t)
	w.claim(t, "m1", "t1", "go test")
	require.NoError(t, w.graph.Close())
	g := openGraph(t, w.dir, "dkgraph/another")
	require.Zero(t, g.Seq())
}

// For any history: folded as it came, folded again from the log, and folded after reopening are the same to the last row;
// and a view of event N sees what a graph built from the events up to N sees.
func TestRebuiltEqualsLive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.random(t, rt)
		if rapid.Bool().Draw(rt, "reopened") {
			require.NoError(t, w.graph.Close())
			w.graph = openGraph(t, w.dir, w.log.Origin())
			w.random(t, rt)
		}
		again := openGraph(t, tempDir(t), w.log.Origin())
		foldTo(t, w.log, again, w.log.Head().Seq)
		require.NoError(t, graph.Compare(w.graph, again))

		n := rapid.Uint64Range(1, w.log.Head().Seq).Draw(rt, "as of")
		part := openGraph(t, tempDir(t), w.log.Origin())
		foldTo(t, w.log, part, n)
		require.Equal(t, everything(t, part.View()), everything(t, w.graph.At(n)))
		require.NoError(t, w.graph.Close())
		require.NoError(t, again.Close())
		require.NoError(t, part.Close())
	})
}

func (w *world) random(t testing.TB, rt *rapid.T) {
	var claims []events.Record
	for i := range rapid.IntRange(1, 12).Draw(rt, "events") {
		turn := fmt.Sprintf("m%d", rapid.IntRange(0, 3).Draw(rt, "turn"))
		key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key")
		switch rapid.IntRange(0, 2).Draw(rt, "what") {
		case 0:
			claims = append(claims, w.claim(t, turn, rapid.SampledFrom([]string{"t1", "t2"}).Draw(rt, "id"), "go test", "a", "issue/b"))
		case 1:
			w.note(t, turn, key, fmt.Sprintf("title %d", i%2), events.NodeEdge{Kind: "relates", To: "b"})
		default:
			if len(claims) > 0 {
				c := rapid.SampledFrom(claims).Draw(rt, "claim")
				w.judge(t, c, rapid.SampledFrom([]events.Verdict{events.Verified, events.Failed}).Draw(rt, "verdict"), int(w.log.Head().Seq))
			}
		}
	}
}

// everything lists what a view shows: nodes, edges both ways, verdicts, pending claims and names.
func everything(t testing.TB, v *graph.View) []string {
	defer v.Close()
	var out []string
	for k := graph.KindAgent; k <= graph.KindAnnotation; k++ {
		for n, err := range v.List(k) {
			require.NoError(t, err)
			out = append(out, fmt.Sprint(k, n.ID, n.Title, n.Seq))
			for e := range v.Out(n.ID) {
				out = append(out, fmt.Sprint("out", e))
			}
			for e := range v.In(n.ID) {
				out = append(out, fmt.Sprint("in", e))
			}
			if r, err := v.Receipt(n.ID); err == nil {
				out = append(out, fmt.Sprint("receipt", r.ID, r.Type))
			}
		}
	}
	for n, err := range v.Pending() {
		require.NoError(t, err)
		out = append(out, "pending "+n.ID.String())
	}
	for _, name := range []string{"a", "b", "issue/a"} {
		nodes, err := v.Named(graph.KindMemory, "/w", name)
		require.NoError(t, err)
		for _, n := range nodes {
			out = append(out, name+n.ID.String())
		}
	}
	return out
}
