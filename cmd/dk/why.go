package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

func (a *app) whyCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "why ID",
		Short: "Show how a verdict came about: rules, run, gate, claim, message, session",
		Long: `why prints the whole path behind a verdict, back to who said what. ID is the id of a receipt or a claim, a unique beginning
of it, or the agent's own id of a claim (the newest one).`,
		Example: "  dk why t1",
		Args:    needID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(_ *projections.Projector, v *graph.View) error { return a.why(v, args[0]) })
		},
	})
}

func (a *app) why(v *graph.View, ref string) error {
	n, err := resolve(v, ref)
	if err != nil {
		return err
	}
	w, err := v.Why(n)
	if err != nil {
		return withHint(err, "dk show %s shows it", ref)
	}
	if a.json {
		return a.out.jsonLine(w)
	}
	return a.printWhy(w)
}

// printWhy writes the path, the verdict first.
func (a *app) printWhy(w graph.Why) error {
	claim, err := graph.Decode[events.Claim](w.Claim)
	if err != nil {
		return err
	}
	verdict := events.Verdict("")
	if w.Receipt != nil {
		verdict = events.Verdict(w.Receipt.Type)
	}
	a.out.printf("%s  %s  %s\n", a.out.verdict(verdict), short(claim.ClaimID, 20), a.out.paint(bold, short(claim.Text, 120)))
	for _, part := range []func(graph.Why) error{a.whyReceipt, a.whyRun, a.whyGate} {
		if err := part(w); err != nil {
			return err
		}
	}
	a.whyClaim(w, claim)
	return nil
}

// section writes one step of the path.
func (a *app) section(name, format string, args ...any) {
	a.out.printf("%s %s\n", a.out.paint(dim, pad(name, 9)), short(fmt.Sprintf(format, args...), 300))
}

func (a *app) detail(format string, args ...any) {
	a.out.printf("          %s\n", short(fmt.Sprintf(format, args...), 240))
}

func (a *app) whyReceipt(w graph.Why) error {
	if w.Receipt == nil {
		a.section("verdict", "none yet: dk verify the transcript in a granted root")
		return nil
	}
	r, err := graph.Decode[events.Receipt](*w.Receipt)
	if err != nil {
		return err
	}
	a.section("verdict", "%s: %s", r.Reason, r.Why)
	a.detail("receipt %s, event #%d, sealed", w.Receipt.ID, w.Receipt.Seq)
	if r.Verdict != events.Unsafe { // the gate's rules stand below
		a.outcomes("rules", r.Rules, "the run alone decided: no rule makes a verdict of a check that did not end")
	}
	for _, old := range w.Earlier {
		a.section("earlier", "%s: %s (event #%d)", old.Type, old.Title, old.Seq)
	}
	return nil
}

func (a *app) outcomes(name string, outcomes []events.RuleOutcome, none string) {
	if len(outcomes) == 0 {
		a.section(name, "%s", none)
	}
	for _, o := range outcomes {
		effect := o.Effect
		if o.Mode != "" {
			effect += ", " + o.Mode
		}
		text := fmt.Sprintf("%s (%s): %s", o.Rule, effect, strings.ReplaceAll(o.Outcome, "_", " "))
		if o.Call > 0 {
			text += fmt.Sprintf(", command %d", o.Call)
		}
		a.section(name, "%s", text)
		if o.Outcome == "error" {
			a.detail("%s", o.Message)
		}
		for _, v := range o.Values {
			a.detail("%s", v)
		}
		name = ""
	}
}

func (a *app) whyRun(w graph.Why) error {
	if w.Run == nil {
		if w.Receipt != nil {
			a.section("run", "none: it was never run")
		}
		return nil
	}
	run, err := graph.Decode[events.Run](*w.Run)
	if err != nil {
		return err
	}
	switch {
	case run.Problem != "":
		a.section("run", "%s: %s", run.Problem, run.Detail)
	case run.Check == "file":
		a.section("run", "looked at the file, in %s", run.CWD)
	default:
		a.section("run", "exit %d in %s, %s, sandbox: %s", run.CheckExit, time.Duration(run.DurationMS)*time.Millisecond, run.CWD, run.Sandbox.Backend)
	}
	a.detail("event #%d, sealed, %s", w.Run.Seq, run.Started.Local().Format("2006-01-02 15:04:05"))
	a.whyStages(run)
	return nil
}

func (a *app) whyStages(run events.Run) {
	for _, s := range run.Stages {
		a.detail("$ %s → exit %d", strings.Join(s.Argv, " "), s.Exit)
	}
	if t := run.Tests; t != nil && t.Counted {
		a.detail("%s: %d run, %d passed, %d failed, %d skipped", t.Framework, t.Run, t.Passed, t.Failed, t.Skipped)
	} else if t != nil {
		a.detail("%s: %d failed; it gives no count of the others", t.Framework, t.Failed)
	}
	for _, h := range run.Highlights {
		a.detail("| %s", h)
	}
	for _, f := range run.Files {
		a.detail("%s: exists %v, %s, %d bytes %s", f.Path, f.Exists, f.Type, f.Size, f.Error)
	}
	for _, e := range run.Expects {
		a.detail("%s %q: met %v %s", e.What, e.Want, e.Met, e.Got)
	}
}

func (a *app) whyGate(w graph.Why) error {
	if w.Gate == nil {
		return nil
	}
	g, err := graph.Decode[events.Gate](*w.Gate)
	if err != nil {
		return err
	}
	a.section("gate", "%s: %s", g.Decision, g.Why)
	a.detail("event #%d, sealed", w.Gate.Seq)
	a.outcomes("", g.Rules, "")
	return nil
}

func (a *app) whyClaim(w graph.Why, c events.Claim) {
	a.section("claim", "%q", c.Text)
	if c.Verify != "" {
		a.detail("$ %s", c.Verify)
	}
	expect := "expect exit 0, as nothing else is said"
	switch {
	case len(c.Expect) > 0:
		expect = "expect " + string(c.Expect)
	case c.Kind == rules.CheckFile: // a look has no exit status
		expect = "no expectation stated"
	}
	a.detail("kind %s, %s, event #%d", c.Kind, expect, w.Claim.Seq)
	for _, n := range w.About {
		a.section("about", "%s/%s: %s", n.Type, n.Name, n.Title)
	}
	if w.Message != nil {
		a.section("message", "%s", w.Message.Name)
	}
	if s := w.Claim.Seen; s != nil {
		a.detail("%s, byte %d", s.Source, s.Offset)
		if !s.At.IsZero() {
			a.detail("said at %s, by the transcript's clock", s.At.Local().Format("2006-01-02 15:04:05"))
		}
	}
	if w.Session != nil {
		a.section("session", "%s", w.Session.Title)
	}
	if w.Agent != nil {
		version := ""
		if w.Claim.Seen != nil {
			version = w.Claim.Seen.AgentVersion
		}
		a.section("agent", "%s %s", w.Agent.Name, version)
	}
}
