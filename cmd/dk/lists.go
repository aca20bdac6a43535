package main

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

type listFlags struct {
	what                   string // is listed
	kind, verdict, session string
	limit                  int
}

func (f *listFlags) add(c *cobra.Command, kindHelp string) {
	if kindHelp != "" {
		c.Flags().StringVar(&f.kind, "kind", "", kindHelp)
	}
	c.Flags().StringVar(&f.session, "session", "", "only of this session of the agent")
	c.Flags().IntVar(&f.limit, "limit", 100, "at most so many, newest first (0: all)")
}

func (f *listFlags) verdictFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.verdict, "verdict", "", "only with this verdict: verified, failed, unsafe, unrunnable, unjudged")
}

// check refuses a verdict that there is none of, which would only list nothing.
func (f listFlags) check() error {
	if f.verdict == "" || f.verdict == "unjudged" || events.Verdict(f.verdict).Valid() {
		return nil
	}
	return withHint(errors.New("no verdict "+f.verdict), "verified, failed, unsafe, unrunnable or unjudged")
}

func (f listFlags) wants(v events.Verdict) bool {
	return f.verdict == "" || f.verdict == string(v) || (f.verdict == "unjudged" && v == "")
}

func (f listFlags) ofSession(seen *events.Seen) bool {
	return f.session == "" || (seen != nil && seen.Session == f.session)
}

func (a *app) claimsCommand() *cobra.Command {
	f := listFlags{what: "claim"}
	c := a.jsonFlag(&cobra.Command{
		Use:     "claims",
		Short:   "List what agents claimed, with the verdict on each",
		Example: "  dk claims --verdict unjudged\n  dk claims --json | jq .text",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(_ *projections.Projector, v *graph.View) error {
				return a.listReceipts(v, f, v.List(graph.KindClaim), ofClaim)
			})
		},
	})
	f.add(c, "only of this kind: test, build, lint, typecheck, file, command, …")
	f.verdictFlag(c)
	return c
}

func (a *app) receiptsCommand() *cobra.Command {
	f := listFlags{what: "receipt"}
	c := a.jsonFlag(&cobra.Command{
		Use:     "receipts",
		Short:   "List the verdicts issued, superseded ones too",
		Example: "  dk receipts --verdict failed",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(_ *projections.Projector, v *graph.View) error {
				return a.listReceipts(v, f, v.List(graph.KindReceipt), lineOf)
			})
		},
	})
	f.add(c, "only for claims of this kind")
	f.verdictFlag(c)
	c.AddCommand(a.receiptsExportCommand())
	return c
}

// listReceipts prints one line a node, as far as the flags want it.
func (a *app) listReceipts(v *graph.View, f listFlags, nodes iter.Seq2[graph.Node, error], line func(*graph.View, graph.Node) (receiptLine, error)) error {
	if err := f.check(); err != nil {
		return err
	}
	var lines []receiptLine
	for n, err := range nodes {
		if err != nil {
			return err
		}
		l, err := line(v, n)
		if err != nil {
			return err
		}
		if !f.wants(l.Verdict) || (f.kind != "" && l.Kind != f.kind) || !f.ofSession(l.seen) {
			continue
		}
		if lines = append(lines, l); f.limit > 0 && len(lines) == f.limit {
			break
		}
	}
	if a.json {
		return a.jsonLines(lines)
	}
	a.printReceipts(lines)
	a.printCount(lines, f.what)
	return nil
}

func (a *app) jsonLines(lines []receiptLine) error {
	for _, l := range lines {
		if err := a.out.jsonLine(l); err != nil {
			return err
		}
	}
	return nil
}

// nodeLine is the form of a memory node on stdout with --json.
type nodeLine struct {
	ID         string            `json:"id"`
	Type       string            `json:"node_type"`
	Key        string            `json:"key,omitempty"`
	Title      string            `json:"title"`
	Body       string            `json:"body,omitempty"`
	Provenance string            `json:"provenance"`
	Workspace  string            `json:"workspace,omitempty"`
	Seq        uint64            `json:"seq"`
	Receipts   map[string]string `json:"receipts,omitempty"` // id → verdict
}

func (a *app) nodesCommand() *cobra.Command {
	var f listFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "nodes",
		Short: "List the memory nodes agents noted, with the verdicts of the receipts about them",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(_ *projections.Projector, v *graph.View) error { return a.nodes(v, f) })
		},
	})
	f.add(c, "only of this type: identity, structure, issue, flow, metric, decision, …")
	return c
}

func (a *app) nodes(v *graph.View, f listFlags) error {
	count := 0
	for n, err := range v.List(graph.KindMemory) {
		if err != nil {
			return err
		}
		if (f.kind != "" && n.Type != f.kind) || !f.ofSession(n.Seen) {
			continue
		}
		line, err := nodeOf(v, n)
		if err != nil {
			return err
		}
		if err := a.printNode(line); err != nil {
			return err
		}
		if count++; f.limit > 0 && count == f.limit {
			break
		}
	}
	if !a.json {
		a.err.printf("%s\n", plural(count, "node"))
	}
	return nil
}

func nodeOf(v *graph.View, n graph.Node) (nodeLine, error) {
	p, err := graph.Decode[events.Node](n)
	if err != nil {
		return nodeLine{}, err
	}
	line := nodeLine{
		ID: n.ID.String(), Type: n.Type, Key: p.Key, Title: p.Title, Body: p.Body, Provenance: p.Provenance,
		Workspace: n.Workspace, Seq: n.Seq, Receipts: make(map[string]string),
	}
	for e := range v.In(n.ID, graph.EdgeAttests) {
		r, err := v.Node(e.From)
		if err != nil {
			return line, err
		}
		if counts, err := countsNow(v, r); err != nil {
			return line, err
		} else if counts {
			line.Receipts[r.ID.String()] = r.Type
		}
	}
	return line, nil
}

// countsNow reports whether a receipt is the one that counts for its claim, and not one that was superseded.
func countsNow(v *graph.View, receipt graph.Node) (bool, error) {
	for e := range v.Out(receipt.ID, graph.EdgeVerifies) {
		now, err := v.Receipt(e.To)
		return now.ID == receipt.ID, err
	}
	return false, fmt.Errorf("claim of receipt %s: %w", receipt.ID, graph.ErrNotFound)
}

func (a *app) printNode(l nodeLine) error {
	if a.json {
		return a.out.jsonLine(l)
	}
	name := l.Type
	if l.Key != "" {
		name += "/" + l.Key
	}
	counts := make(map[string]int)
	for _, verdict := range l.Receipts {
		counts[verdict]++
	}
	said := ""
	for _, v := range []string{"verified", "failed", "unsafe", "unrunnable"} {
		if counts[v] > 0 {
			said += "  " + itoa(counts[v]) + " " + v
		}
	}
	a.out.printf("%s  %s  %s%s\n", pad(short(name, 30), 24), pad(l.Provenance, 10), a.out.paint(bold, short(l.Title, 80)), a.out.paint(dim, said))
	return nil
}
