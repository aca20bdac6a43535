package projections

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/rules"
)

// VerifyOptions say how claims are verified.
type VerifyOptions struct {
	// NoRun gates claims and runs nothing: those that are refused get their receipt, the others stay unjudged.
	NoRun bool
	// Started is called before a claim's command is run, if it is not nil.
	Started func(claim graph.Node, command string)
}

// A Result is what is known of one claim after Verify.
type Result struct {
	Claim   graph.Node
	Receipt *graph.Node // nil while it is unjudged
	Fresh   bool        // the receipt was issued by this call
}

// Verify gates, runs and judges claims that have no receipt yet, and returns what is known of each. A claim that has one
// is left alone, except when it could not be run because its folder was not granted, and now it is.
func (p *Projector) Verify(ctx context.Context, claims []events.ID, opts VerifyOptions) ([]Result, error) {
	results := make([]Result, 0, len(claims))
	for _, id := range claims {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		r, err := p.verify(ctx, id, opts)
		if err != nil {
			return results, fmt.Errorf("claim %s: %w", id, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// Pending returns the claims without a receipt, oldest first.
func (p *Projector) Pending() ([]events.ID, error) {
	v := p.graph.View()
	defer v.Close()
	var ids []events.ID
	for n, err := range v.Pending() {
		if err != nil {
			return nil, err
		}
		ids = append(ids, n.ID)
	}
	return ids, nil
}

func (p *Projector) verify(ctx context.Context, id events.ID, opts VerifyOptions) (Result, error) {
	p.judging.Lock()
	defer p.judging.Unlock()
	c, err := p.load(id)
	if err != nil {
		return Result{}, err
	}
	if c.receipt != nil && !p.again(c) {
		return Result{Claim: c.node, Receipt: c.receipt}, nil
	}
	if err := p.activate(ctx); err != nil {
		return Result{}, err
	}
	if err := p.decide(ctx, c); err != nil {
		return Result{}, err
	}
	receipt, err := p.conclude(ctx, c, opts)
	if err != nil || receipt == nil {
		return Result{Claim: c.node}, err
	}
	return Result{Claim: c.node, Receipt: receipt, Fresh: true}, nil
}

// A verifying claim is what is known of a claim on its way to a receipt.
type verifying struct {
	node    graph.Node
	claim   events.Claim
	receipt *graph.Node // the one that counts now, to be superseded
	gate    *graph.Node // the newest
	run     *graph.Node // the newest
	decided events.Gate
	facts   rules.Facts
}

func (p *Projector) load(id events.ID) (*verifying, error) {
	v := p.graph.View()
	defer v.Close()
	var c verifying
	var err error
	if c.node, err = v.Node(id); err != nil {
		return nil, err
	}
	if c.node.Kind != graph.KindClaim {
		return nil, fmt.Errorf("%s is a %s, no claim", id, c.node.Kind)
	}
	if c.claim, err = graph.Decode[events.Claim](c.node); err != nil {
		return nil, err
	}
	c.receipt, err = optional(v.Receipt(id))
	if err != nil {
		return nil, err
	}
	if c.gate, err = optional(v.Latest(id, graph.EdgeGates)); err != nil {
		return nil, err
	}
	c.run, err = optional(v.Latest(id, graph.EdgeExecutes))
	return &c, err
}

// folder is the absolute folder a claim was made in, as text, or "".
func (c *verifying) folder() string {
	cwd := c.claim.CWD
	if seen := c.node.Seen; seen != nil && seen.CWD != "" {
		switch {
		case cwd == "":
			return seen.CWD
		case !filepath.IsAbs(cwd):
			return filepath.Join(seen.CWD, cwd)
		}
	}
	if !filepath.IsAbs(cwd) {
		return ""
	}
	return cwd
}

// optional makes nil of what is not found.
func optional(n graph.Node, err error) (*graph.Node, error) {
	if errors.Is(err, graph.ErrNotFound) {
		return nil, nil
	}
	return &n, err
}

// again reports whether the only thing that kept a claim from being run is over: its folder is granted by now, or its
// scripts changed just then.
func (p *Projector) again(c *verifying) bool {
	if c.receipt.Name != problemNotGranted && c.receipt.Name != problemMoved {
		return false
	}
	return p.where(c).problem == ""
}

// decide records the gate's decision. A decision of the same rules that is there already, from a call that was cut short,
// is taken up, unless it was about other scripts than there are now.
func (p *Projector) decide(ctx context.Context, c *verifying) error {
	facts := p.gateFacts(c)
	if c.gate != nil {
		g, err := graph.Decode[events.Gate](*c.gate)
		if err != nil {
			return err
		}
		if g.Ruleset == p.set.Digest() && g.Engine == rules.Engine {
			c.decided = g
			if c.facts, err = rules.DecodeFacts(g.Facts); err != nil {
				return err
			}
			if c.hasRun() || slices.Equal(c.facts.Command.Sources, facts.Command.Sources) {
				return nil
			}
		}
	}
	c.facts = facts
	d := p.set.Gate(c.facts)
	raw, digest, err := c.facts.Encode()
	if err != nil {
		return err
	}
	c.decided = events.Gate{
		Claim: c.node.Ref(), Ruleset: p.set.Digest(), Decision: "refuse", Reason: d.Reason, Why: d.Why,
		Rules: p.set.Explain(c.facts, d.Rules), Facts: raw, FactsDigest: digest, Engine: rules.Engine,
	}
	if d.Allow {
		c.decided.Decision = "allow"
	}
	seal, err := p.seal()
	if err != nil {
		return err
	}
	draft, err := seal.GateDecided(c.decided)
	if err != nil {
		return err
	}
	c.gate, err = p.appendNode(ctx, draft)
	return err
}

// appendNode records one draft and returns the node it made.
func (p *Projector) appendNode(ctx context.Context, d events.Draft) (*graph.Node, error) {
	recs, _, err := p.append(ctx, d)
	if err != nil {
		return nil, err
	}
	v := p.graph.View()
	defer v.Close()
	n, err := v.Made(recs[0].Seq())
	return &n, err
}

// conclude brings a gated claim to its receipt; nil when it may be run and opts say not to.
func (p *Projector) conclude(ctx context.Context, c *verifying, opts VerifyOptions) (*graph.Node, error) {
	if c.decided.Decision != "allow" {
		return p.issue(ctx, c, rules.Judgement{
			Verdict: events.Unsafe, Reason: c.decided.Reason, Why: c.decided.Why, Rules: c.decided.Rules,
		})
	}
	if !c.hasRun() {
		if opts.NoRun {
			return nil, nil
		}
		if err := p.observe(ctx, c, opts); err != nil {
			return nil, err
		}
	}
	run, err := graph.Decode[events.Run](*c.run)
	if err != nil {
		return nil, err
	}
	c.facts = c.facts.With(run)
	return p.issue(ctx, c, p.set.Judge(c.facts))
}

// hasRun reports whether there is a run of the newest decision that no receipt was given for yet.
func (c *verifying) hasRun() bool {
	return c.run != nil && permittedBy(c.run, c.gate) && !c.restsOn(c.run)
}

// restsOn reports whether the receipt that counts was given for a run: that run cannot be the ground of the next one.
func (c *verifying) restsOn(run *graph.Node) bool {
	if c.receipt == nil {
		return false
	}
	r, err := graph.Decode[events.Receipt](*c.receipt)
	return err != nil || r.Run == nil || r.Run.Seq >= run.Seq
}

func permittedBy(run, gate *graph.Node) bool {
	r, err := graph.Decode[events.Run](*run)
	return err == nil && r.Gate == gate.Ref()
}

// observe runs the check and records the evidence, before anything is judged.
func (p *Projector) observe(ctx context.Context, c *verifying, opts VerifyOptions) error {
	if opts.Started != nil {
		opts.Started(c.node, c.claim.Verify)
	}
	run, err := p.check(ctx, c)
	if err != nil {
		return err
	}
	run.Claim, run.Gate, run.Ruleset = c.node.Ref(), c.gate.Ref(), p.set.Digest()
	seal, err := p.seal()
	if err != nil {
		return err
	}
	draft, err := seal.RunObserved(run)
	if err != nil {
		return err
	}
	c.run, err = p.appendNode(ctx, draft)
	return err
}

// issue seals and records a receipt.
func (p *Projector) issue(ctx context.Context, c *verifying, j rules.Judgement) (*graph.Node, error) {
	gate := c.gate.Ref()
	r := events.Receipt{
		Claim: c.node.Ref(), Gate: &gate, Verdict: j.Verdict, Reason: j.Reason, Why: j.Why, Rules: j.Rules,
		Ruleset: p.set.Digest(), Engine: rules.Engine, Mode: "live",
	}
	var run []byte
	if c.run != nil && j.Verdict != events.Unsafe {
		ref := c.run.Ref()
		r.Run, run = &ref, c.run.Body
	}
	if c.receipt != nil {
		ref := c.receipt.Ref()
		r.Supersedes = &ref
	}
	r.InputDigest = rules.InputDigest(c.node.Body, c.decided.Facts, run)
	r.VerdictDigest = rules.VerdictDigest(j, r.InputDigest)
	seal, err := p.seal()
	if err != nil {
		return nil, err
	}
	draft, err := seal.ReceiptIssued(r)
	if err != nil {
		return nil, err
	}
	return p.appendNode(ctx, draft)
}
