package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// A View reads the graph as it was after one event. Close it when done. It is safe for concurrent use.
type View struct {
	txn *badger.Txn
	seq uint64
}

// View returns a view of the graph as it is.
func (g *Graph) View() *View { return g.At(g.Seq()) }

// At returns a view of the graph as it was after event seq.
func (g *Graph) At(seq uint64) *View {
	seq = min(seq, g.Seq())
	return &View{txn: g.db.NewTransactionAt(seq, false), seq: seq}
}

// Seq returns the event that the view is as of.
func (v *View) Seq() uint64 { return v.seq }

// Close releases the view.
func (v *View) Close() { v.txn.Discard() }

// Node returns the node with the given id, or ErrNotFound.
func (v *View) Node(id events.ID) (Node, error) { return readNode(v.txn, id) }

// Made returns the node that event seq made, or ErrNotFound.
func (v *View) Made(seq uint64) (Node, error) {
	raw, err := get(v.txn, key(tabSeq).seq(seq))
	if err != nil {
		return Node{}, fmt.Errorf("event %d made no node: %w", seq, err)
	}
	return v.Node(events.ID(raw))
}

// LastActivation returns the event that put the rules in force, 0 if none did.
func (v *View) LastActivation() uint64 {
	raw, err := get(v.txn, metaActivation)
	if err != nil || len(raw) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(raw)
}

// Pack returns the event that holds the source of the rule pack with the given digest, 0 if none does.
func (v *View) Pack(digest string) uint64 {
	raw, err := get(v.txn, key(tabPack).hash(digest))
	if err != nil || len(raw) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(raw)
}

// Packs returns the events that hold the sources of rule packs, oldest first.
func (v *View) Packs() ([]uint64, error) {
	var seqs []uint64
	for item := range scan(v.txn, key(tabPack)) {
		raw, err := item.ValueCopy(nil)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, binary.BigEndian.Uint64(raw))
	}
	slices.Sort(seqs)
	return seqs, nil
}

// List yields the nodes of a kind, newest first.
func (v *View) List(kind Kind) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		for id := range newestIDs(v.txn, key(tabKind).kind(kind)) {
			n, err := v.Node(id)
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// Out yields the edges from a node, of the given kinds or of all, newest first within a kind.
func (v *View) Out(id events.ID, kinds ...EdgeKind) iter.Seq[Edge] { return v.edges(tabOut, id, kinds) }

// In yields the edges to a node, of the given kinds or of all, newest first within a kind.
func (v *View) In(id events.ID, kinds ...EdgeKind) iter.Seq[Edge] { return v.edges(tabIn, id, kinds) }

func (v *View) edges(table byte, id events.ID, kinds []EdgeKind) iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		prefixes := []keyBuf{key(table).id(id)}
		if len(kinds) > 0 {
			prefixes = nil
			for _, k := range kinds {
				prefixes = append(prefixes, key(table).id(id).edge(k))
			}
		}
		for _, p := range prefixes {
			for item := range scan(v.txn, p) {
				if !yield(parseEdge(item.Key())) {
					return
				}
			}
		}
	}
}

// first returns the far end of the newest edge of a kind.
func (v *View) first(id events.ID, kind EdgeKind) (Node, error) {
	for e := range v.Out(id, kind) {
		return v.Node(e.To)
	}
	return Node{}, fmt.Errorf("%s of %s: %w", kind, id, ErrNotFound)
}

// Receipt returns the receipt that counts for a claim, or ErrNotFound while it is unjudged.
func (v *View) Receipt(claim events.ID) (Node, error) {
	raw, err := get(v.txn, key(tabVerdict).id(claim))
	if err != nil {
		return Node{}, fmt.Errorf("receipt of claim %s: %w", claim, err)
	}
	return v.Node(events.ID(raw))
}

// Receipts returns every receipt of a claim, newest first.
func (v *View) Receipts(claim events.ID) ([]Node, error) {
	ids, err := valueIDs(v.txn, key(tabReceipt).id(claim), maxReceipts)
	if err != nil {
		return nil, err
	}
	return v.nodes(ids)
}

// maxReceipts bounds the history of one claim that is read at once.
const maxReceipts = 1000

func (v *View) nodes(ids []events.ID) ([]Node, error) {
	nodes := make([]Node, len(ids))
	for i, id := range ids {
		var err error
		if nodes[i], err = v.Node(id); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// Pending yields the claims without a receipt, oldest first.
func (v *View) Pending() iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		for item := range scan(v.txn, key(tabPending)) {
			raw, err := item.ValueCopy(nil)
			var n Node
			if err == nil {
				n, err = v.Node(events.ID(raw))
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// Named returns the nodes that go by a name, newest first: claims by the agent's id for them, memory nodes by key or by
// type/key within a workspace.
func (v *View) Named(kind Kind, workspace, name string) ([]Node, error) {
	scheme := memoryName
	if kind == KindClaim {
		scheme, workspace = claimName, ""
	}
	return v.nodes(others(v.txn, nameKey(scheme, workspace, name), maxNamed))
}

// maxNamed bounds how many nodes of one name are read at once.
const maxNamed = 1000

// Resolve finds the node that a person means: an id, an event as #N, the agent's own id of a claim, of which the newest is
// taken, or a unique beginning of an id. A whole id comes first: an agent may call its claims whatever it likes.
func (v *View) Resolve(ref string) (Node, error) {
	if id, err := events.ParseID(strings.ToUpper(ref)); err == nil {
		if n, err := v.Node(id); !errors.Is(err, ErrNotFound) {
			return n, err
		}
	}
	var seq uint64
	if n, err := fmt.Sscanf(ref, "#%d", &seq); n == 1 && err == nil {
		return v.Made(seq)
	}
	claims, err := v.Named(KindClaim, "", ref)
	if err != nil {
		return Node{}, err
	}
	if len(claims) > 0 {
		return claims[0], nil
	}
	return v.byPrefix(ref)
}

// byPrefix finds the one node whose id begins with a text.
func (v *View) byPrefix(ref string) (Node, error) {
	lo, hi, ok := idRange(ref)
	if !ok {
		return Node{}, fmt.Errorf("%q: %w", ref, ErrNotFound)
	}
	var found []events.ID
	for item := range scanFrom(v.txn, key(tabNode), key(tabNode).id(lo)) {
		id := tailID(item.Key())
		if string(id[:]) > string(hi[:]) {
			break
		}
		if found = append(found, id); len(found) > 1 {
			return Node{}, fmt.Errorf("%q: %w: %s, %s, …", ref, ErrAmbiguous, found[0], found[1])
		}
	}
	if len(found) == 0 {
		return Node{}, fmt.Errorf("%q: %w", ref, ErrNotFound)
	}
	return v.Node(found[0])
}

// A Why is the path from a receipt back to who said what: receipt ← rules ← run ← gate ← claim ← message ← session ←
// agent. Members that do not apply are nil: a refused claim has no run, an unjudged one no receipt.
type Why struct {
	Receipt *Node  `json:"receipt,omitempty"`
	Run     *Node  `json:"run,omitempty"`
	Gate    *Node  `json:"gate,omitempty"`
	Claim   Node   `json:"claim"`
	Message *Node  `json:"message,omitempty"`
	Session *Node  `json:"session,omitempty"`
	Agent   *Node  `json:"agent,omitempty"`
	About   []Node `json:"about,omitempty"`
	Earlier []Node `json:"earlier,omitempty"` // receipts of the same claim that this one revises
}

// Why returns the path behind a receipt or a claim.
func (v *View) Why(n Node) (Why, error) {
	var w Why
	switch n.Kind {
	case KindReceipt:
		claim, err := v.first(n.ID, EdgeVerifies)
		if err != nil {
			return w, err
		}
		w.Claim, w.Receipt = claim, &n
	case KindClaim:
		w.Claim = n
		receipt, err := v.Receipt(n.ID)
		if err == nil {
			w.Receipt = &receipt
		} else if !errors.Is(err, ErrNotFound) {
			return w, err
		}
	default:
		return w, fmt.Errorf("%s %s is neither a claim nor a receipt", n.Kind, n.ID)
	}
	return w, v.fillWhy(&w)
}

func (v *View) fillWhy(w *Why) error {
	follow := func(dst **Node, from *Node, kind EdgeKind) error {
		if from == nil {
			return nil
		}
		n, err := v.first(from.ID, kind)
		switch {
		case err == nil:
			*dst = &n
		case !errors.Is(err, ErrNotFound):
			return err
		}
		return nil
	}
	if err := errors.Join(
		follow(&w.Run, w.Receipt, EdgeBasedOn), follow(&w.Gate, w.Receipt, EdgeGatedBy),
		follow(&w.Message, &w.Claim, EdgeAssertedIn)); err != nil {
		return err
	}
	if err := follow(&w.Session, w.Message, EdgeInSession); err != nil {
		return err
	}
	if err := follow(&w.Agent, w.Session, EdgeByAgent); err != nil {
		return err
	}
	return v.fillAround(w)
}

// fillAround adds what a receipt attests and what it revises; without a receipt, the newest gate decision.
func (v *View) fillAround(w *Why) error {
	from, kind := w.Claim.ID, EdgeAbout
	if w.Receipt != nil {
		from, kind = w.Receipt.ID, EdgeAttests
	} else if n, err := v.Latest(w.Claim.ID, EdgeGates); err == nil {
		w.Gate = &n
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	for e := range v.Out(from, kind) {
		n, err := v.Node(e.To)
		if err != nil {
			return err
		}
		w.About = append(w.About, n)
	}
	receipts, err := v.Receipts(w.Claim.ID)
	for _, r := range receipts {
		if w.Receipt != nil && r.Seq < w.Receipt.Seq {
			w.Earlier = append(w.Earlier, r)
		}
	}
	return err
}

// Latest returns the newest node of a kind that points at a claim, such as its run (EdgeExecutes) or gate (EdgeGates).
func (v *View) Latest(claim events.ID, kind EdgeKind) (Node, error) {
	for e := range v.In(claim, kind) {
		return v.Node(e.From)
	}
	return Node{}, fmt.Errorf("%s %s: %w", kind, claim, ErrNotFound)
}
