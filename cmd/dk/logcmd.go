package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

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
		Long: `log prints the events in order, one a line; with --json the very lines that are stored and hashed. The hash of a line (SHA-256
over a zero byte and the line) is the prev of the next one. A followed log is looked at twice a second.`,
		Example: "  dk log --kind receipt.issued\n  dk log --json --from 100\n  dk log --follow",
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
	if f.follow {
		return a.followLog(c.Context(), f)
	}
	return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
		_, err := a.printLog(p.Log().Read(c.Context(), f.from), f)
		return err
	})
}

// followEvery is how often a followed log is looked at. Between looks the store is closed, so that others can write.
const followEvery = 500 * time.Millisecond

func (a *app) followLog(ctx context.Context, f logFlags) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		err := a.read(ctx, func(p *projections.Projector, _ *graph.View) error {
			next, err := a.printLog(p.Log().Read(ctx, f.from), f)
			f.from = next
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, projections.ErrInUse) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// printLog prints events and returns the number of the one that would come next.
func (a *app) printLog(seq iter.Seq2[events.Record, error], f logFlags) (next uint64, err error) {
	next = max(f.from, 1)
	for rec, err := range seq {
		if err = errors.Join(err, a.out.err); err != nil { // after a failed write, nobody reads any more
			return next, err
		}
		next = rec.Seq() + 1
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
	return next, a.out.err
}

// said are the members of payloads that a summary is made of.
type said struct {
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

// summary is an event in a few words.
func summary(kind events.Kind, payload json.RawMessage) string {
	var p said
	if err := json.Unmarshal(payload, &p); err != nil {
		return ""
	}
	return short(p.of(kind), 120)
}

func (p said) of(kind events.Kind) string {
	switch kind {
	case events.KindLogCreated:
		return p.Origin
	case events.KindSessionSeen:
		return p.Agent + " " + p.Session
	case events.KindClaimMade:
		return p.ClaimID + ": " + p.Text
	case events.KindNodeNoted:
		return p.NodeType + ": " + p.Title
	case events.KindSummaryNoted:
		return p.Kind
	case events.KindMarkerIgnored:
		return p.Marker + ": " + p.Reason + " " + p.Detail
	case events.KindTranscriptDamaged:
		return p.What + " " + p.Detail
	case events.KindPackInstalled:
		return p.Name + " " + p.Version
	case events.KindRulesActivated:
		return p.Ruleset
	case events.KindGateDecided:
		return p.Decision + ": " + p.Why
	case events.KindRunObserved:
		if p.Problem != "" {
			return p.Command + " → " + p.Problem
		}
		return p.Command + " → exit " + exitText(p.Exit)
	case events.KindReceiptIssued:
		return p.Verdict + ": " + p.Why
	default:
		return p.Text
	}
}

func exitText(n *int) string {
	if n == nil {
		return "?"
	}
	return itoa(*n)
}
