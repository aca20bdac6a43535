package main

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

type logFlags struct {
	follow bool
	from   uint64
	kind   string
}

func (a *app) logCommand() *cobra.Command {
	var f logFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "log",
		Short: "Print the event log",
		Long: `log prints the events in order, one a line; with --json the very lines that are stored and hashed. The hash of a line is the
prev of the next one.`,
		Example: "  dk log --kind receipt.issued\n  dk log --json | sha256sum",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.log(c, f) },
	})
	c.Flags().BoolVar(&f.follow, "follow", false, "go on with new events as they come")
	c.Flags().Uint64Var(&f.from, "from", 1, "first event")
	c.Flags().StringVar(&f.kind, "kind", "", "only events of this kind, such as claim.made")
	a.addLogVerbs(c)
	return c
}

func (a *app) log(c *cobra.Command, f logFlags) error {
	if f.kind != "" && !slices.Contains(events.Kinds(), events.Kind(f.kind)) {
		return withHint(errors.New("no events of kind "+f.kind), "kinds: %v", events.Kinds())
	}
	return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
		seq := p.Log().Read(c.Context(), f.from)
		if f.follow {
			seq = p.Log().Follow(c.Context(), f.from)
		}
		return a.printLog(seq, f)
	})
}

func (a *app) printLog(seq iter.Seq2[events.Record, error], f logFlags) error {
	for rec, err := range seq {
		if err != nil {
			return err
		}
		if f.kind != "" && string(rec.Kind()) != f.kind {
			continue
		}
		if a.json {
			line := string(rec.Line())
			if a.out.tty { // elsewhere the bytes that are hashed
				line = escapeControls(line)
			}
			a.out.printf("%s\n", line)
			continue
		}
		seal := " "
		if rec.Sealed() {
			seal = "●"
		}
		a.out.printf("%6d %s %s %s %s\n", rec.Seq(), rec.Time().Local().Format("01-02 15:04:05"), seal, pad(string(rec.Kind()), 18), summary(rec.Kind(), rec.Payload()))
	}
	return nil
}

// summary is an event in a few words.
func summary(kind events.Kind, payload json.RawMessage) string {
	var p struct {
		ClaimID  string `json:"claim_id"`
		Text     string `json:"text"`
		Title    string `json:"title"`
		NodeType string `json:"node_type"`
		Decision string `json:"decision"`
		Verdict  string `json:"verdict"`
		Reason   string `json:"reason"`
		Why      string `json:"why"`
		Problem  string `json:"problem"`
		Command  string `json:"command"`
		Exit     *int   `json:"check_exit"`
		Agent    string `json:"agent"`
		Session  string `json:"session"`
		Marker   string `json:"marker"`
		What     string `json:"what"`
		Detail   string `json:"detail"`
		Name     string `json:"name"`
		Version  string `json:"version"`
		Ruleset  string `json:"ruleset"`
		Origin   string `json:"origin"`
		Kind     string `json:"kind"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return ""
	}
	text := ""
	switch kind {
	case events.KindLogCreated:
		text = p.Origin
	case events.KindSessionSeen:
		text = p.Agent + " " + p.Session
	case events.KindClaimMade:
		text = p.ClaimID + ": " + p.Text
	case events.KindNodeNoted:
		text = p.NodeType + ": " + p.Title
	case events.KindSummaryNoted:
		text = p.Kind
	case events.KindMarkerIgnored:
		text = p.Marker + ": " + p.Reason + " " + p.Detail
	case events.KindTranscriptDamaged:
		text = p.What + " " + p.Detail
	case events.KindPackInstalled:
		text = p.Name + " " + p.Version
	case events.KindRulesActivated:
		text = p.Ruleset
	case events.KindGateDecided:
		text = p.Decision + ": " + p.Why
	case events.KindRunObserved:
		text = p.Command + " → exit " + exitText(p.Exit)
		if p.Problem != "" {
			text = p.Command + " → " + p.Problem
		}
	case events.KindReceiptIssued:
		text = p.Verdict + ": " + p.Why
	case events.KindAnnotationAdded:
		text = p.Text
	}
	return short(text, 120)
}

func exitText(n *int) string {
	if n == nil {
		return "?"
	}
	return itoa(*n)
}
