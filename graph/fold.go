package graph

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// A folder turns one record into rows. What it writes depends on the record and on the rows of earlier records alone, so
// a rebuild gives the same rows.
type folder struct {
	txn *badger.Txn // opened at the event before
	rec events.Record
	err error // the first one of set
}

// fold dispatches on the kind of the record. Kinds that make no node leave only their sequence number.
func (f *folder) fold() error {
	switch f.rec.Kind() {
	case events.KindSessionSeen:
		_, err := f.session()
		return err
	case events.KindNodeNoted:
		return f.memory()
	case events.KindSummaryNoted:
		return f.summary()
	case events.KindClaimMade:
		return f.claim()
	case events.KindPackInstalled:
		return f.pack()
	case events.KindRulesActivated:
		return f.ruleset()
	case events.KindGateDecided:
		return f.gate()
	case events.KindRunObserved:
		return f.run()
	case events.KindReceiptIssued:
		return f.receipt()
	case events.KindAnnotationAdded:
		return f.annotation()
	default:
		return nil
	}
}

func (f *folder) set(k keyBuf, v []byte, meta byte) {
	if err := f.txn.SetEntry(badger.NewEntry(k, v).WithMeta(meta)); err != nil && f.err == nil {
		f.err = err
	}
}

func (f *folder) delete(k keyBuf) {
	if err := f.txn.Delete(k); err != nil && f.err == nil {
		f.err = err
	}
}

// has reports whether there is a row; an error of reading is kept like one of set, for it must not look like "no".
func (f *folder) has(k keyBuf) bool {
	_, err := f.txn.Get(k)
	if err != nil && !errors.Is(err, badger.ErrKeyNotFound) && f.err == nil {
		f.err = err
	}
	return err == nil
}

// made writes the node that this record makes. A record whose node is there already repeats an earlier one.
func (f *folder) made(n Node) (Node, error) {
	n.ID = events.DeriveID(n.At, n.Kind.String(), f.rec.Origin())
	n.Body = f.rec.Payload()
	n.Hash = f.rec.Hash()
	if seen := f.rec.Seen(); seen != (events.Seen{}) {
		n.Seen = &seen
	}
	if f.has(key(tabNode).id(n.ID)) {
		return n, fmt.Errorf("%w: %s %s", ErrRepeated, n.Kind, n.ID)
	}
	f.set(key(tabSeq).seq(f.rec.Seq()), n.ID[:], byte(n.Kind))
	return n, f.put(n)
}

// shared writes a node that many records speak of, the first time one does. Its id comes from its natural key.
func (f *folder) shared(kind Kind, title string, natural ...string) (events.ID, error) {
	n := Node{Kind: kind, Name: natural[len(natural)-1], Title: title}
	n.ID = naturalID(kind, natural...)
	if f.has(key(tabNode).id(n.ID)) {
		return n.ID, nil
	}
	return n.ID, f.put(n)
}

// naturalID is the id of what has no event of its own.
func naturalID(kind Kind, natural ...string) events.ID {
	return events.DeriveID(time.Time{}, kind.String(), events.KeyOf(natural...))
}

func (f *folder) put(n Node) error {
	n.Seq, n.Recorded = f.rec.Seq(), f.rec.Time()
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // the payload within stays as the log has it, to the byte
	if err := enc.Encode(n); err != nil {
		return err
	}
	f.set(key(tabNode).id(n.ID), body.Bytes(), byte(n.Kind))
	f.set(key(tabKind).kind(n.Kind).newest(n.Seq).id(n.ID), nil, byte(n.Kind))
	return nil
}

// edge writes both rows of an edge.
func (f *folder) edge(from events.ID, kind EdgeKind, to events.ID) {
	f.set(key(tabOut).id(from).edge(kind).newest(f.rec.Seq()).id(to), nil, 0)
	f.set(key(tabIn).id(to).edge(kind).newest(f.rec.Seq()).id(from), nil, 0)
}

// at is the time of a node that an agent made: the transcript's, so that everybody derives the same id.
func (f *folder) at() time.Time { return f.rec.Seen().At }

func (f *folder) session() (events.ID, error) {
	seen := f.rec.Seen()
	agent, err := f.shared(KindAgent, seen.Agent, seen.Agent)
	if err != nil {
		return agent, err
	}
	known := f.has(key(tabNode).id(sessionID(seen)))
	id, err := f.shared(KindSession, seen.Agent+" session "+seen.Session, seen.Agent, seen.Session)
	if err == nil && !known {
		f.edge(id, EdgeByAgent, agent)
	}
	return id, err
}

func sessionID(seen events.Seen) events.ID {
	return naturalID(KindSession, seen.Agent, seen.Session)
}

// message writes the message that something was asserted in, and its session, and links from to it.
func (f *folder) message(from events.ID) error {
	seen := f.rec.Seen()
	if seen.Turn == "" {
		return nil
	}
	session, err := f.session()
	if err != nil {
		return err
	}
	natural := []string{seen.Agent, seen.Turn}
	id := naturalID(KindMessage, natural...)
	known := f.has(key(tabNode).id(id))
	if _, err = f.shared(KindMessage, seen.Agent+" message "+seen.Turn, natural...); err != nil {
		return err
	}
	if !known {
		f.edge(id, EdgeInSession, session)
	}
	f.edge(from, EdgeAssertedIn, id)
	return nil
}

func (f *folder) memory() error {
	p, err := events.Decode[events.Node](f.rec)
	if err != nil {
		return err
	}
	seen := f.rec.Seen()
	n, err := f.made(Node{Kind: KindMemory, Type: p.NodeType, Name: p.Key, Title: p.Title, Workspace: seen.Workspace, At: f.at()})
	if err != nil {
		return err
	}
	if err := f.message(n.ID); err != nil {
		return err
	}
	if p.Key != "" {
		if err := f.lineage(n, p); err != nil {
			return err
		}
	}
	for _, e := range p.Edges {
		if kind, ok := agentEdge(e.Kind); ok {
			f.want(n.ID, kind, seen.Workspace, e.To)
		}
	}
	return nil
}

// lineage names a memory node by its key, links it to the one it restates, and gives it the edges that waited for it.
func (f *folder) lineage(n Node, p events.Node) error {
	typed := p.NodeType + "/" + p.Key
	if old, ok := f.named(memoryName, n.Workspace, typed); ok {
		kind, err := f.restates(old, p)
		if err != nil {
			return err
		}
		f.edge(n.ID, kind, old)
	}
	for _, name := range []string{p.Key, typed} {
		f.set(nameKey(memoryName, n.Workspace, name).newest(f.rec.Seq()).id(n.ID), nil, byte(KindMemory))
		f.wanted(n.ID, n.Workspace, name)
	}
	return nil
}

// restates says whether p is the same as the node old, or something else under its name.
func (f *folder) restates(old events.ID, p events.Node) (EdgeKind, error) {
	n, err := readNode(f.txn, old)
	if err != nil {
		return 0, err
	}
	before, err := Decode[events.Node](n)
	if err != nil {
		return 0, err
	}
	if before.Title == p.Title && before.Body == p.Body && before.Provenance == p.Provenance {
		return EdgeReasserts, nil
	}
	return EdgeSupersedes, nil
}

// Names that are looked up.
const (
	memoryName = "memory"
	claimName  = "claim"
)

func nameKey(scheme, workspace, name string) keyBuf {
	return key(tabName).hash(scheme, workspace, name)
}

// named returns the newest node of a name.
func (f *folder) named(scheme, workspace, name string) (events.ID, bool) {
	for id := range newestIDs(f.txn, nameKey(scheme, workspace, name)) {
		return id, true
	}
	return events.ID{}, false
}

// want links from to the memory node of a name, now or when somebody notes it.
func (f *folder) want(from events.ID, kind EdgeKind, workspace, name string) {
	if to, ok := f.named(memoryName, workspace, name); ok {
		f.edge(from, kind, to)
		return
	}
	f.set(key(tabWanted).hash(workspace, name).newest(f.rec.Seq()).id(from).edge(kind), nil, 0)
}

// maxRows bounds what one record may write beside its own node: one record is one transaction, and whatever a transcript
// says, a record that the log took must fold.
const maxRows = 1000

// wanted links those who waited for a name to the node that now has it. The oldest of very many go on waiting for the next
// node of that name.
func (f *folder) wanted(to events.ID, workspace, name string) {
	for _, k := range keysWithPrefix(f.txn, key(tabWanted).hash(workspace, name), maxRows) {
		kind := EdgeKind(uint16(k[len(k)-2])<<8 | uint16(k[len(k)-1]))
		f.edge(tailID(k[:len(k)-2]), kind, to)
		f.delete(k)
	}
}

func (f *folder) summary() error {
	p, err := events.Decode[events.Summary](f.rec)
	if err != nil {
		return err
	}
	n, err := f.made(Node{Kind: KindSummary, Type: p.Kind, Title: summaryTitle(p), Workspace: f.rec.Seen().Workspace, At: f.at()})
	if err != nil {
		return err
	}
	return f.message(n.ID)
}

func summaryTitle(p events.Summary) string {
	var data struct {
		Headline string `json:"headline"`
		Title    string `json:"title"`
	}
	if json.Unmarshal(p.Data, &data) != nil || data.Headline+data.Title == "" {
		return p.Kind
	}
	return data.Headline + data.Title
}

func (f *folder) claim() error {
	p, err := events.Decode[events.Claim](f.rec)
	if err != nil {
		return err
	}
	seen := f.rec.Seen()
	n, err := f.made(Node{Kind: KindClaim, Type: p.Kind, Name: p.ClaimID, Title: p.Text, Workspace: seen.Workspace, At: f.at()})
	if err != nil {
		return err
	}
	if err := f.message(n.ID); err != nil {
		return err
	}
	if err := f.thread(n, p); err != nil {
		return err
	}
	for _, name := range p.About {
		f.want(n.ID, EdgeAbout, seen.Workspace, name)
	}
	f.set(nameKey(claimName, "", p.ClaimID).newest(f.rec.Seq()).id(n.ID), nil, byte(KindClaim))
	f.set(key(tabPending).seq(f.rec.Seq()), n.ID[:], 0)
	return nil
}

// thread adds a claim to those under the same id of the same session. A verdict is never inherited: the same claim made
// again is a new claim.
func (f *folder) thread(n Node, p events.Claim) error {
	seen := f.rec.Seen()
	thread, err := f.shared(KindThread, "claim "+p.ClaimID, seen.Workspace, seen.Agent, seen.Session, p.ClaimID)
	if err != nil {
		return err
	}
	prefix := key(tabThread).id(thread)
	before, err := valueIDs(f.txn, prefix, 1)
	if err != nil {
		return err
	}
	for _, id := range before {
		old, err := readNode(f.txn, id)
		if err != nil {
			return err
		}
		before, err := Decode[events.Claim](old)
		if err != nil {
			return err
		}
		kind := EdgeSupersedes
		if sameClaim(before, p) {
			kind = EdgeReasserts
		}
		f.edge(n.ID, kind, id)
	}
	f.edge(n.ID, EdgeOfThread, thread)
	f.set(prefix.newest(f.rec.Seq()), n.ID[:], 0)
	return nil
}

func sameClaim(a, b events.Claim) bool {
	return a.Text == b.Text && a.Kind == b.Kind && a.Verify == b.Verify && a.CWD == b.CWD && string(a.Expect) == string(b.Expect)
}

func (f *folder) pack() error {
	p, err := events.Decode[events.PackInstalled](f.rec)
	if err == nil {
		f.set(key(tabPack).hash(p.Digest), binary.BigEndian.AppendUint64(nil, f.rec.Seq()), 0)
	}
	return err
}

func (f *folder) ruleset() error {
	p, err := events.Decode[events.Activation](f.rec)
	if err != nil {
		return err
	}
	f.set(metaActivation, binary.BigEndian.AppendUint64(nil, f.rec.Seq()), 0)
	_, err = f.shared(KindRuleset, fmt.Sprintf("%d packs", len(p.Packs)), p.Ruleset)
	return err
}

// under links a node to the rule set that decided it.
func (f *folder) under(from events.ID, digest string) error {
	id, err := f.shared(KindRuleset, "", digest)
	if err == nil {
		f.edge(from, EdgeUnder, id)
	}
	return err
}

// node returns the node that the event of a reference made. The reference's hash must be that event's.
func (f *folder) node(ref events.Ref, want Kind) (Node, error) {
	raw, err := get(f.txn, key(tabSeq).seq(ref.Seq))
	if err != nil {
		return Node{}, fmt.Errorf("event %d made no %s: %w", ref.Seq, want, err)
	}
	n, err := readNode(f.txn, events.ID(raw))
	if err != nil {
		return n, err
	}
	if n.Kind != want || n.Hash != ref.Hash {
		return n, fmt.Errorf("%w: event %d is not the %s it was sealed for", events.ErrRetargeted, ref.Seq, want)
	}
	return n, nil
}

func (f *folder) gate() error {
	p, err := events.Decode[events.Gate](f.rec)
	if err != nil {
		return err
	}
	claim, err := f.node(p.Claim, KindClaim)
	if err != nil {
		return err
	}
	n, err := f.made(Node{Kind: KindGate, Type: p.Decision, Name: p.Reason, Title: p.Why, Workspace: claim.Workspace, At: f.rec.Time()})
	if err != nil {
		return err
	}
	f.edge(n.ID, EdgeGates, claim.ID)
	return f.under(n.ID, p.Ruleset)
}

func (f *folder) run() error {
	p, err := events.Decode[events.Run](f.rec)
	if err != nil {
		return err
	}
	claim, err := f.node(p.Claim, KindClaim)
	if err != nil {
		return err
	}
	gate, err := f.node(p.Gate, KindGate)
	if err != nil {
		return err
	}
	n, err := f.made(Node{Kind: KindRun, Type: p.Check, Name: p.Problem, Title: p.Command, Workspace: claim.Workspace, At: f.rec.Time()})
	if err != nil {
		return err
	}
	f.edge(n.ID, EdgeExecutes, claim.ID)
	f.edge(n.ID, EdgePermittedBy, gate.ID)
	return nil
}

// verdictMeta is a verdict as one byte beside a key.
var verdictMeta = map[events.Verdict]byte{events.Verified: 1, events.Failed: 2, events.Unsafe: 3, events.Unrunnable: 4}

func (f *folder) receipt() error {
	p, err := events.Decode[events.Receipt](f.rec)
	if err != nil {
		return err
	}
	if !f.rec.Sealed() || !p.Verdict.Valid() {
		return fmt.Errorf("%w: receipt with the verdict %q", events.ErrUnsealed, p.Verdict)
	}
	claim, err := f.node(p.Claim, KindClaim)
	if err != nil {
		return err
	}
	n, err := f.made(Node{Kind: KindReceipt, Type: string(p.Verdict), Name: p.Reason, Title: p.Why, Workspace: claim.Workspace, At: f.rec.Time()})
	if err != nil {
		return err
	}
	if err := f.receiptEdges(n, p, claim); err != nil {
		return err
	}
	meta := verdictMeta[p.Verdict]
	f.set(key(tabVerdict).id(claim.ID), n.ID[:], meta)
	f.set(key(tabReceipt).id(claim.ID).newest(f.rec.Seq()), n.ID[:], meta)
	f.delete(key(tabPending).seq(claim.Seq))
	return nil
}

func (f *folder) receiptEdges(n Node, p events.Receipt, claim Node) error {
	f.edge(n.ID, EdgeVerifies, claim.ID)
	for _, to := range []struct {
		ref  *events.Ref
		kind Kind
		edge EdgeKind
	}{{p.Gate, KindGate, EdgeGatedBy}, {p.Run, KindRun, EdgeBasedOn}, {p.Supersedes, KindReceipt, EdgeRevises}} {
		if to.ref == nil {
			continue
		}
		target, err := f.node(*to.ref, to.kind)
		if err != nil {
			return err
		}
		f.edge(n.ID, to.edge, target.ID)
	}
	subjects, err := f.subjects(claim)
	if err != nil {
		return err
	}
	for _, id := range subjects {
		f.edge(n.ID, EdgeAttests, id)
	}
	return f.under(n.ID, p.Ruleset)
}

// subjects are the memory nodes a claim is about: those it names or, where it names none, those of the same message.
func (f *folder) subjects(claim Node) ([]events.ID, error) {
	p, err := Decode[events.Claim](claim)
	if err != nil {
		return nil, err
	}
	if len(p.About) > 0 {
		return others(f.txn, key(tabOut).id(claim.ID).edge(EdgeAbout), maxRows), nil
	}
	var out []events.ID
	for _, message := range others(f.txn, key(tabOut).id(claim.ID).edge(EdgeAssertedIn), 1) {
		for _, id := range others(f.txn, key(tabIn).id(message).edge(EdgeAssertedIn), maxRows) {
			n, err := readNode(f.txn, id)
			if err != nil {
				return nil, err
			}
			if n.Kind == KindMemory {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

func (f *folder) annotation() error {
	p, err := events.Decode[events.Annotation](f.rec)
	if err != nil {
		return err
	}
	n, err := f.made(Node{Kind: KindAnnotation, Name: p.By, Title: p.Text, At: f.rec.Time()})
	if err != nil {
		return err
	}
	target, err := events.ParseID(p.Target)
	if err != nil || !f.has(key(tabNode).id(target)) {
		return nil // a note about something unknown is kept and linked to nothing
	}
	kind := EdgeAnnotates
	if p.Override != "" {
		kind = EdgeOverrides
	}
	f.edge(n.ID, kind, target)
	return nil
}

func readNode(txn *badger.Txn, id events.ID) (Node, error) {
	var n Node
	raw, err := get(txn, key(tabNode).id(id))
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("node %s: %w", id, ErrNotFound)
		}
		return n, err
	}
	return n, json.Unmarshal(raw, &n)
}
