package projections_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/badgerlog"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

// A bench is a repository and a store beside it.
type bench struct {
	repo, store string
}

func newBench(t *testing.T) bench {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := bench{repo: filepath.Join(dir, "repo"), store: filepath.Join(dir, "store")}
	require.NoError(t, os.MkdirAll(b.repo, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.repo, "notes.md"), []byte("release notes\n"), 0o644))
	return b
}

func (b bench) open(t *testing.T) *projections.Projector {
	p, err := projections.Open(t.Context(), b.store, projections.Options{Roots: []string{b.repo}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

var says = []string{
	`<dk-node>{"node_type":"decision","key":"notes","title":"notes are kept","provenance":"inferred"}</dk-node>` + "\n" +
		`<dk-verify>{"id":"t1","claim":"notes written","kind":"file","verify":"notes.md","expect":"contains: release"}</dk-verify>`,
	`<dk-verify>{"id":"t2","claim":"notes found","kind":"command","verify":"test -f notes.md && grep -c 'release' < notes.md"}</dk-verify>`,
	`<dk-verify>{"id":"t3","claim":"clean","kind":"command","verify":"rm -rf notes.md"}</dk-verify>`,
	`<dk-verify>{"id":"t4","claim":"errors documented","kind":"command","verify":"grep -q errors notes.md"}</dk-verify>`,
}

func (b bench) verify(t *testing.T, p *projections.Projector) []projections.Result {
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, says...)), "session.jsonl")
	require.NoError(t, err)
	results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
	require.NoError(t, err)
	return results
}

func verdicts(t *testing.T, results []projections.Result) []string {
	var out []string
	for _, r := range results {
		require.NotNil(t, r.Receipt)
		out = append(out, r.Receipt.Type+" "+r.Receipt.Name)
	}
	return out
}

var want = []string{"verified as_claimed", "verified as_claimed", "unsafe destructive_command", "failed wrong_exit"}

func TestVerifyTwiceAddsNothing(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	require.Equal(t, want, verdicts(t, b.verify(t, p)))
	require.FileExists(t, filepath.Join(b.repo, "notes.md"), "what is refused is never run")
	head := p.Log().Head()
	again := b.verify(t, p)
	require.Equal(t, want, verdicts(t, again))
	require.False(t, again[0].Fresh)
	require.Equal(t, head, p.Log().Head())

	require.NoError(t, p.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(b.store, "graph")))
	p = b.open(t)
	require.Equal(t, want, verdicts(t, b.verify(t, p)), "the graph is built again from the log")
	require.Equal(t, head, p.Log().Head())
	found, err := p.Audit(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, found.Findings)
}

func TestNoRunLeavesClaimsUnjudged(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, says...)), "session.jsonl")
	require.NoError(t, err)
	results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{NoRun: true})
	require.NoError(t, err)
	require.Nil(t, results[1].Receipt)
	require.Equal(t, "unsafe", results[2].Receipt.Type)
	pending, err := p.Pending()
	require.NoError(t, err)
	require.Len(t, pending, 3)
	require.Equal(t, want, verdicts(t, b.verify(t, p)), "and they are taken up later")
}

// The judge gives the same verdict again from what the log recorded, whatever happened to the repository since.
func TestRecordedFactsGiveTheSameVerdicts(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	b.verify(t, p)
	require.NoError(t, os.RemoveAll(b.repo))
	v := p.Graph().View()
	defer v.Close()
	n := 0
	for node, err := range v.List(graph.KindReceipt) {
		require.NoError(t, err)
		r, err := graph.Decode[events.Receipt](node)
		require.NoError(t, err)
		why, err := v.Why(node)
		require.NoError(t, err)
		gate, err := graph.Decode[events.Gate](*why.Gate)
		require.NoError(t, err)
		facts, err := rules.DecodeFacts(gate.Facts)
		require.NoError(t, err)
		set, err := p.Ruleset()
		require.NoError(t, err)
		decision := set.Gate(facts)
		require.Equal(t, gate.Decision == "allow", decision.Allow)
		require.Equal(t, gate.Reason, decision.Reason)
		if why.Run == nil {
			continue
		}
		run, err := graph.Decode[events.Run](*why.Run)
		require.NoError(t, err)
		j := set.Judge(facts.With(run))
		input := rules.InputDigest(why.Claim.Body, gate.Facts, why.Run.Body)
		require.Equal(t, r.VerdictDigest, rules.VerdictDigest(j, input))
		require.Equal(t, r.Why, j.Why)
		n++
	}
	require.Equal(t, 3, n)
}

// edit changes rows of a Badger folder behind everybody's back.
func edit(t *testing.T, dir string, change func(txn *badger.Txn, key, val []byte) error) {
	db, err := badger.OpenManaged(badger.DefaultOptions(dir).WithLogger(nil).WithExternalMagic(magicOf(dir)))
	require.NoError(t, err)
	read := db.NewTransactionAt(^uint64(0), false)
	it := read.NewIterator(badger.DefaultIteratorOptions)
	txn := db.NewTransactionAt(^uint64(0), true)
	for it.Rewind(); it.Valid(); it.Next() {
		val, err := it.Item().ValueCopy(nil)
		require.NoError(t, err)
		require.NoError(t, change(txn, it.Item().KeyCopy(nil), val))
	}
	it.Close()
	read.Discard()
	require.NoError(t, txn.CommitAt(1<<40, nil))
	require.NoError(t, db.Close())
}

// editLog is edit by somebody who knows of the files beside the log, too, and makes them fit.
func editLog(t *testing.T, b bench, change func(txn *badger.Txn, key, val []byte) error) {
	dir := filepath.Join(b.store, "log")
	edit(t, dir, change)
	_, err := projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, events.ErrCorrupt, "without that care it does not even open")
	cover(t, b)
}

// cover makes the head file fit whatever log there is.
func cover(t *testing.T, b bench) {
	backend, err := badgerlog.OpenWith(filepath.Join(b.store, "log"), badgerlog.Options{AcceptEnd: true})
	require.NoError(t, err)
	require.NoError(t, backend.Close())
}

func magicOf(dir string) uint16 {
	if filepath.Base(dir) == "graph" {
		return 0x6b2
	}
	return 0x6b1
}

func TestEditedLogShows(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	b.verify(t, p)
	require.NoError(t, p.Close())
	editLog(t, b, func(txn *badger.Txn, key, val []byte) error {
		if key[0] != 'e' || !strings.Contains(string(val), `"verdict":"failed"`) {
			return nil
		}
		at := 33 + 32*int(val[32]) // a hash, a count of hashes, so many hashes, the line
		line := []byte(strings.Replace(string(val[at:]), `"verdict":"failed"`, `"verdict":"verified"`, 1))
		hash := events.LeafHash(line)
		return txn.Set(key, slices.Concat(hash[:], val[32:at], line))
	})
	_, err := projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, events.ErrUnsealed, "the forged event is the last one: the log does not even open")
}

// lines reads the lines of a log, as somebody with an editor on the database would.
func lines(t *testing.T, b bench) []string {
	p := b.open(t)
	var out []string
	for rec, err := range p.Log().Read(t.Context(), 1) {
		require.NoError(t, err)
		out = append(out, string(rec.Line()))
	}
	require.NoError(t, p.Close())
	return out
}

// overwrite puts lines in place of those of a log, with the right hashes, the right chain and the right tree, and no key.
func overwrite(t *testing.T, b bench, lines []string) {
	hashes := make([]events.Hash, len(lines))
	for i, line := range lines {
		if i > 0 {
			var e struct {
				Prev string `json:"prev"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			lines[i] = strings.Replace(line, e.Prev, hashes[i-1].String(), 1)
		}
		hashes[i] = events.LeafHash([]byte(lines[i]))
	}
	editLog(t, b, func(txn *badger.Txn, key, val []byte) error {
		if key[0] == 'o' && binary.BigEndian.Uint64(val) > uint64(len(lines)) {
			return txn.Delete(key)
		}
		if key[0] != 'e' {
			return nil
		}
		i := int(binary.BigEndian.Uint64(key[1:])) - 1
		if i >= len(lines) {
			return txn.Delete(key)
		}
		data := slices.Concat(hashes[i][:], val[32:33])
		for level := range int(val[32]) { // the subtrees that end with this event
			data = append(data, subtree(hashes[i+1-2<<level:i+1])...)
		}
		return txn.Set(key, append(data, lines[i]...))
	})
}

// subtree is the root of a complete tree, by RFC 6962.
func subtree(leaves []events.Hash) []byte {
	if len(leaves) == 1 {
		return leaves[0][:]
	}
	half := len(leaves) / 2
	sum := sha256.Sum256(slices.Concat([]byte{1}, subtree(leaves[:half]), subtree(leaves[half:])))
	return sum[:]
}

// Whoever rewrites the log without the key, whatever care is taken, is found out by the head that was signed.
func TestRewrittenLogShows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines []string) []string
		want   error
	}{
		"a claim changed and all re-chained": {func(lines []string) []string {
			lines[3] = strings.Replace(lines[3], "notes written", "notes are fine", 1)
			return lines
		}, events.ErrForked},
		"the tail cut":      {func(lines []string) []string { return lines[:len(lines)-2] }, events.ErrRewound},
		"all but one event": {func(lines []string) []string { return lines[:1] }, events.ErrRewound},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			b := newBench(t)
			p := b.open(t)
			b.verify(t, p)
			require.NoError(t, p.Close())
			was := lines(t, b)
			overwrite(t, b, c.change(slices.Clone(was)))
			_, err := projections.Open(t.Context(), b.store, projections.Options{})
			require.ErrorIs(t, err, c.want)

			if c.want == events.ErrForked { // put back, it is the log again: nothing else was wrong with it
				overwrite(t, b, was)
				require.NoError(t, b.open(t).Close())
			}
		})
	}
}

func TestEditedGraphShows(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	b.verify(t, p)
	require.NoError(t, p.Close())
	edit(t, filepath.Join(b.store, "graph"), func(txn *badger.Txn, key, val []byte) error {
		if !strings.Contains(string(val), `"kind":"verification_receipt"`) {
			return nil
		}
		return txn.Set(key, []byte(strings.Replace(string(val), `"type":"failed"`, `"type":"verified"`, 1)))
	})
	p = b.open(t)
	found, err := p.Audit(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, found.Findings, 1)
	require.Equal(t, "graph", found.Findings[0].What)
}

func TestLostEventsShow(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, says...)), "session.jsonl")
	require.NoError(t, err)
	require.NoError(t, p.Close())
	old := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.CopyFS(old, os.DirFS(filepath.Join(b.store, "log"))))
	p = b.open(t)
	_, err = p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
	require.NoError(t, err)
	require.NoError(t, p.Close())

	require.NoError(t, os.RemoveAll(filepath.Join(b.store, "log")))
	require.NoError(t, os.CopyFS(filepath.Join(b.store, "log"), os.DirFS(old)))
	_, err = projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, events.ErrCorrupt, "an older copy under the newer head file")
	cover(t, b)
	_, err = projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, events.ErrRewound, "an older copy of the log than the one that was signed last")
	for _, name := range []string{"checkpoint", "checkpoint.1"} {
		require.NoError(t, os.Remove(filepath.Join(b.store, name)))
	}
	_, err = projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, projections.ErrLost, "and without the checkpoint the graph still knows")

	require.NoError(t, os.RemoveAll(filepath.Join(b.store, "log")))
	_, err = projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, events.ErrCorrupt, "no log at all")
	left, err := filepath.Glob(filepath.Join(b.store, "log*"))
	require.NoError(t, err)
	for _, name := range left {
		require.NoError(t, os.RemoveAll(name))
	}
	_, err = projections.Open(t.Context(), b.store, projections.Options{})
	require.ErrorIs(t, err, projections.ErrLost, "and nothing beside it: the graph still knows")
}

func TestKey(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	b.verify(t, p)
	require.NoError(t, p.Close())
	key := filepath.Join(b.store, "keys", "seal.key")
	info, err := os.Stat(key)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	fails := func(why string) {
		p := b.open(t)
		in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, "nothing", "nothing", "nothing", "nothing",
			`<dk-verify>{"id":"`+why+`","claim":"x","kind":"file","verify":"x"}</dk-verify>`)), "s")
		require.NoError(t, err, "reading and recording works without a key")
		_, err = p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
		require.ErrorIs(t, err, projections.ErrKey, why)
		require.NoError(t, p.Close())
	}
	require.NoError(t, os.Chmod(key, 0o644))
	fails("open to others")
	require.NoError(t, os.Remove(key))
	fails("missing")
	other := newBench(t)
	require.NoError(t, other.open(t).Close())
	stolen, err := os.ReadFile(filepath.Join(other.store, "keys", "seal.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, stolen, 0o600))
	fails("of another log")
}

func TestStoreWithinARootIsRefused(t *testing.T) {
	b := newBench(t)
	for _, store := range []string{filepath.Join(b.repo, ".dk"), b.repo, filepath.Join(b.repo, "a", "b")} {
		_, err := projections.Open(t.Context(), store, projections.Options{Roots: []string{b.repo}})
		require.ErrorIs(t, err, projections.ErrStoreInRoot)
		require.NoFileExists(t, filepath.Join(store, "keys", "seal.key"))
	}
	_, err := projections.Open(t.Context(), b.store, projections.Options{Roots: []string{filepath.Join(b.store, "keys")}})
	require.Error(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(b.repo, link))
	_, err = projections.Open(t.Context(), filepath.Join(link, "dk"), projections.Options{Roots: []string{b.repo}})
	require.ErrorIs(t, err, projections.ErrStoreInRoot)
	_, err = projections.Open(t.Context(), b.store, projections.Options{Roots: []string{filepath.Join(b.repo, "nosuch")}})
	require.Error(t, err, "a root that is not there grants nothing, and is a mistake")
}

// A pack whose comments or tests change has the same digest: both sources are kept, and neither stops the other.
func TestPackWithTheSameDigest(t *testing.T) {
	b := newBench(t)
	src := "pack: team/own\nversion: 1.0.0\nfacts: dk.facts/v1\nrules: [{id: own.r, phase: gate, effect: deny, reason: x, when: call.name == 'x'}]\n"
	for i, text := range []string{src, src + "# a comment\n", src} {
		pack, err := rules.ParsePack("own.yaml", []byte(text))
		require.NoError(t, err)
		more := []*rules.Pack{pack}
		if i == 1 {
			other, err := rules.ParsePack("other.yaml", []byte(strings.NewReplacer("team/own", "team/other", "own.r", "other.r").Replace(src)))
			require.NoError(t, err)
			more = append(more, other)
		}
		p, err := projections.Open(t.Context(), b.store, projections.Options{Roots: []string{b.repo}, Rules: more})
		require.NoError(t, err)
		texts := make([]string, i+1)
		texts[i] = fmt.Sprintf(`<dk-verify>{"id":"p%d","claim":"x","kind":"file","verify":"notes.md"}</dk-verify>`, i)
		in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, texts...)), "s")
		require.NoError(t, err)
		results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
		require.NoError(t, err)
		require.Equal(t, "verified", results[0].Receipt.Type)
		require.NoError(t, p.Close())
	}
}

// A symlink is what it leads to, a folder can be named past a symlink, and a pattern over a file comes to an end.
func TestFilesAsTheyAre(t *testing.T) {
	b := newBench(t)
	require.NoError(t, os.Symlink("notes.md", filepath.Join(b.repo, "link.md")))
	require.NoError(t, os.Symlink("..", filepath.Join(b.repo, "up")))
	require.NoError(t, os.WriteFile(filepath.Join(b.repo, "..", "other.txt"), nil, 0o600))
	alias := filepath.Join(filepath.Dir(b.repo), "alias")
	require.NoError(t, os.Symlink(b.repo, alias))
	sum := sha256.Sum256([]byte("release notes\n"))
	upper := strings.ToUpper(hex.EncodeToString(sum[:]))
	p := b.open(t)
	for i, c := range []struct{ cwd, marker, want string }{
		{b.repo, `"verify":"test -f link.md"`, "verified"},
		{b.repo, `"expect":{"file":"notes.md","sha256":"` + upper + `"}`, "verified"},
		{alias, `"verify":"` + alias + `/notes.md"`, "verified"},
		{b.repo, `"verify":"up/other.txt","expect":"exists"`, "unrunnable"},
		{b.repo, `"verify":"notes.md","expect":"matches: ^release"`, "verified"},
		{b.repo, `"verify":"notes.md","expect":"matches: ^notes"`, "failed"},
		{b.repo, `"verify":"cat notes.md","expect":{"output_contains":"release"}`, "verified"},
		{b.repo, `"verify":"test -e nosuch.md","expect":1`, "verified"},
		{b.repo, `"verify":"test -e notes.md","expect":1`, "failed"},
		{b.repo, `"verify":"grep -q nosuch notes.md","expect":{"file":"notes.md"}`, "failed"},
	} {
		texts := make([]string, i+1)
		texts[i] = fmt.Sprintf(`<dk-verify>{"id":"f%d","claim":"x","kind":"file",%s}</dk-verify>`, i, c.marker)
		in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(c.cwd, texts...)), "s")
		require.NoError(t, err)
		require.Len(t, in.Claims, 1, c.marker)
		results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
		require.NoError(t, err)
		require.Equalf(t, c.want, results[0].Receipt.Type, "%s: %s", c.marker, results[0].Receipt.Title)
	}
}

func TestClaimKnownFromElsewhereIsSaid(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	_, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, says...)), "a")
	require.NoError(t, err)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays("/somewhere/else", says...)), "b")
	require.NoError(t, err)
	require.Len(t, in.Elsewhere, 4)
}

func TestOtherAccount(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("accounts are told apart on unix alone")
	}
	b := newBench(t)
	p := b.open(t)
	another := os.Getuid() + 4711
	other, why, err := p.OtherAccount(another)
	require.NoError(t, err)
	require.True(t, other, why)
	for _, uid := range []int{0, os.Getuid()} {
		other, why, err := p.OtherAccount(uid)
		require.NoError(t, err)
		require.False(t, other)
		require.NotEmpty(t, why)
	}
	require.NoError(t, os.Chmod(filepath.Join(b.store, "keys"), 0o755))
	other, why, err = p.OtherAccount(another)
	require.NoError(t, err)
	require.False(t, other)
	require.Contains(t, why, "lets others in")
}

func TestFolderThatIsNoStore(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	_, err := projections.Open(t.Context(), dir, projections.Options{})
	require.ErrorIs(t, err, projections.ErrNotStore)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestIngestGoesOnWhileVerifying(t *testing.T) {
	b := newBench(t)
	p := b.open(t)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo, says...)), "session.jsonl")
	require.NoError(t, err)
	var wg sync.WaitGroup
	started, recorded := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		<-started
		defer close(recorded)
		more := claudeSays(b.repo, append(says, says[0])...)
		if _, err := p.Ingest(context.Background(), strings.NewReader(more), "more.jsonl"); err != nil {
			t.Error(err)
		}
	})
	var once sync.Once
	results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{Started: func(graph.Node, string) {
		once.Do(func() { close(started) })
		<-recorded // the claim is held here until the other transcript is recorded
	}})
	wg.Wait()
	require.NoError(t, err)
	require.Equal(t, want, verdicts(t, results))
	pending, err := p.Pending()
	require.NoError(t, err)
	require.Len(t, pending, 1)
}
