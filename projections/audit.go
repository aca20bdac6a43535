package projections

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
)

// An Audit is what was found on reading a whole store again.
type Audit struct {
	Origin    string      `json:"origin"`
	PublicKey string      `json:"public_key"`
	Events    uint64      `json:"events"`
	Head      events.Hash `json:"head"`
	Sealed    int         `json:"sealed"`
	Claims    int         `json:"claims"`
	Receipts  int         `json:"receipts"`
	Trust     string      `json:"trust"` // who could have forged it, see TrustSameAccount
	Findings  []Finding   `json:"findings"`
}

// A Finding is something wrong.
type Finding struct {
	What   string `json:"what"` // log, repeated, index, graph, checkpoint, anchor
	Seq    uint64 `json:"seq,omitempty"`
	Detail string `json:"detail"`
}

// TrustSameAccount is the trust level of a store whose key the account that runs the agents can read: accidents and naive
// edits show, a hostile process that reads the key can forge.
const TrustSameAccount = "L0: same account: edits without the key show; who reads the key file can forge"

// TrustOtherAccount is the level of a store that the account which runs the agents can neither read nor change.
const TrustOtherAccount = "L1: another account: the agents' account can neither read the key nor change the store; the superuser can"

// TrustAnchored is the level once the log is compared with a checkpoint that was kept elsewhere.
const TrustAnchored = "L2: same account, with an outside anchor: up to the checkpoint, a rewritten or shortened log shows even to those who lost the key"

// OK reports whether nothing wrong was found.
func (a Audit) OK() bool { return len(a.Findings) == 0 }

// Audit reads every event again (hash, chain, seal, dense sequence, each origin key once), builds the graph a second time
// from the log and compares it with the one in use, row by row. progress may be nil.
func (p *Projector) Audit(ctx context.Context, progress func(done, total uint64)) (Audit, error) {
	a := Audit{Origin: p.log.Origin(), PublicKey: fmt.Sprintf("%x", p.log.PublicKey()), Trust: TrustSameAccount, Findings: []Finding{}}
	left, err := filepath.Glob(filepath.Join(p.dir, "audit-*")) // of audits that were cut short
	if err != nil {
		return a, err
	}
	for _, name := range left {
		if err := os.RemoveAll(name); err != nil {
			return a, err
		}
	}
	dir, err := os.MkdirTemp(p.dir, "audit-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(dir)
	again, err := graph.Open(filepath.Join(dir, "graph"), p.log.Origin())
	if err != nil {
		return a, err
	}
	defer again.Close()
	p.mu.Lock() // nothing is appended while it is read
	defer p.mu.Unlock()
	if !p.auditLog(ctx, &a, again, progress) {
		return a, ctx.Err()
	}
	if again.Seq() != p.graph.Seq() {
		a.find("graph", 0, "the graph is at event %d, the log at %d", p.graph.Seq(), again.Seq())
	} else if err := graph.Compare(p.graph, again); err != nil {
		a.find("graph", 0, "the graph is not what the log says: %v", err)
	}
	return a, ctx.Err()
}

func (a *Audit) find(what string, seq uint64, format string, args ...any) {
	a.Findings = append(a.Findings, Finding{What: what, Seq: seq, Detail: fmt.Sprintf(format, args...)})
}

// auditLog reads the log into a new graph and reports whether it came to the end.
func (p *Projector) auditLog(ctx context.Context, a *Audit, again *graph.Graph, progress func(done, total uint64)) bool {
	origins := make(map[events.Hash]uint64)
	end := p.log.Head()
	for rec, err := range p.log.Read(ctx, 1) {
		if err != nil {
			a.find("log", a.Events+1, "%v", err)
			return false
		}
		if first, ok := origins[rec.Origin()]; ok {
			a.find("repeated", rec.Seq(), "event %d has the origin key of event %d", rec.Seq(), first)
		}
		origins[rec.Origin()] = rec.Seq()
		if found, err := p.log.Find(ctx, rec.Origin()); err != nil || found.Seq() != rec.Seq() {
			a.find("index", rec.Seq(), "its origin key does not lead to it: %v", err)
		}
		a.count(rec)
		if err := again.Apply(rec); err != nil {
			a.find("graph", rec.Seq(), "%v", err)
			return false
		}
		if progress != nil {
			progress(rec.Seq(), end.Seq)
		}
	}
	if a.Events != end.Seq || a.Head != end.Hash {
		a.find("log", a.Events, "the log ends at event %d, its head is event %d", a.Events, end.Seq)
	}
	return true
}

func (a *Audit) count(rec events.Record) {
	a.Events, a.Head = rec.Seq(), rec.Hash()
	if rec.Sealed() {
		a.Sealed++
	}
	switch rec.Kind() {
	case events.KindClaimMade:
		a.Claims++
	case events.KindReceiptIssued:
		a.Receipts++
	}
}
