package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

type explainFlags struct {
	claim, kind, cwd string
	rules            []string
}

func (a *app) rulesExplainCommand() *cobra.Command {
	var f explainFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "explain RULE [flags] -- COMMAND",
		Short: "Show what one rule makes of a command or of a claim, and why",
		Long: `explain evaluates one rule in force, whatever its mode, and shows the smallest part of it that decided, with the values it
read: of a false &&, the operand that was false; of an exists, the element that it found. Each line begins with line:col
in the pack.

The facts are those of a command's text, or with --claim those that the store recorded of a claim and of its last run.
--claim takes the id of a claim or a receipt, a unique beginning of it, or the agent's own id of the claim.

Exit status: 0 it was explained; 2 it could not be.`,
		Example: `  dk rules explain gate.destructive -- rm -rf build
  dk rules explain judge.exit --claim t1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || (f.claim == "") == (len(args) == 1) {
				return withHint(errors.New("want a rule, and a command or a claim"), "dk rules explain gate.destructive -- rm -rf build; dk rules explain judge.exit --claim t1")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.rulesExplain(c.Context(), args, f) },
	})
	c.Flags().StringVar(&f.claim, "claim", "", "id of a claim or a receipt: explain over what was recorded")
	c.Flags().StringVar(&f.kind, "kind", "command", "kind of the claim the command would be run for")
	c.Flags().StringVar(&f.cwd, "cwd", "", "folder the command would run in; the scripts there are read")
	c.Flags().StringArrayVar(&f.rules, "rules", nil, "rule pack of your own, beside those in force (repeatable)")
	return c
}

func (a *app) rulesExplain(ctx context.Context, args []string, f explainFlags) error {
	active, err := a.inForce(ctx, f.rules)
	if err != nil {
		return err
	}
	set, err := rules.Activate(active...)
	if err != nil {
		return err
	}
	facts, err := a.factsToExplain(ctx, args[1:], f)
	if err != nil {
		return err
	}
	findings, err := set.Why(args[0], facts)
	if err != nil {
		return withHint(err, "dk rules list shows the rules in force")
	}
	if len(findings) == 0 {
		a.err.printf("%s looks at each simple command, and there is none\n", args[0])
	}
	for _, fd := range findings {
		if err := a.printFinding(fd); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) factsToExplain(ctx context.Context, command []string, f explainFlags) (rules.Facts, error) {
	if f.claim == "" {
		g := gateFlags{cwd: f.cwd, kind: f.kind}
		if err := g.folder(); err != nil {
			return rules.Facts{}, err
		}
		return g.facts(commandText(command)), nil
	}
	var facts rules.Facts
	err := a.read(ctx, func(_ *projections.Projector, v *graph.View) error {
		n, err := resolve(v, f.claim)
		if err != nil {
			return err
		}
		w, err := v.Why(n)
		if err != nil {
			return err
		}
		if w.Gate == nil {
			return withHint(fmt.Errorf("%s has not been gated yet, so no facts are recorded", f.claim), "dk verify the transcript first")
		}
		facts, err = recordedFacts(w)
		return err
	})
	return facts, err
}

// recordedFacts are those of the gate, and of the run if there was one.
func recordedFacts(w graph.Why) (rules.Facts, error) {
	g, err := graph.Decode[events.Gate](*w.Gate)
	if err != nil {
		return rules.Facts{}, err
	}
	facts, err := rules.DecodeFacts(g.Facts)
	if err != nil || w.Run == nil {
		return facts, err
	}
	run, err := graph.Decode[events.Run](*w.Run)
	return facts.With(run), err
}

func (a *app) printFinding(f rules.Finding) error {
	if a.json {
		return a.out.jsonLine(f)
	}
	head := fmt.Sprintf("%s (%s): %s", f.Rule, f.Effect, strings.ReplaceAll(f.Outcome, "_", " "))
	if f.Mode != rules.ModeEnforce {
		head += ", in mode " + f.Mode
	}
	if f.Call > 0 {
		head += fmt.Sprintf(", command %d: %s", f.Call, f.Command)
	}
	a.out.printf("%s\n", a.out.paint(bold, short(head, 200)))
	if f.Message != "" {
		a.out.printf("  %s\n", short(f.Message, 240))
	}
	for _, s := range f.Steps {
		indent := strings.Repeat("  ", s.Depth)
		if s.Read {
			indent += "  "
		}
		place := fmt.Sprintf("%d:%d", s.Line, s.Col)
		a.out.printf("  %s %s%s = %s\n", a.out.paint(dim, pad(place, 7)), indent, short(s.Expr, 160), short(s.Value, 160))
	}
	return nil
}

func (a *app) rulesDiffCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "diff A B",
		Short: "Show what one pack decides otherwise than another",
		Long: `diff compares two packs by what decides: rules that were added, removed or changed, by digest, and params. Messages and tests
decide nothing. A and B are files, or names or digests of packs that are installed or come with dk.

Exit status: 0 they decide the same, 1 they differ, 2 one could not be read.`,
		Example: "  dk rules diff team/own team.yaml     # what is installed, and the file",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return withHint(errors.New("want two packs"), "dk rules diff team/own team.yaml")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.rulesDiff(c.Context(), args[0], args[1]) },
	})
}

func (a *app) rulesDiff(ctx context.Context, from, to string) error {
	before, err := a.packNamed(ctx, from)
	if err != nil {
		return err
	}
	after, err := a.packNamed(ctx, to)
	if err != nil {
		return err
	}
	changes := rules.Diff(before, after)
	for _, ch := range changes {
		if a.json {
			if err := a.out.jsonLine(ch); err != nil {
				return err
			}
			continue
		}
		a.out.printf("%s %s\n", pad(ch.What, 8), ch.Name)
		if ch.What == "changed" || ch.What == "param" {
			a.out.printf("  - %s\n  + %s\n", short(ch.From, 400), short(ch.To, 400))
		}
	}
	if len(changes) == 0 && before.Source != after.Source {
		a.err.printf("they decide the same; messages or tests differ\n")
	}
	return negativeIf(len(changes) > 0)
}

// packNamed reads a pack from a file, from the store, or from the program.
func (a *app) packNamed(ctx context.Context, name string) (*rules.Pack, error) {
	if _, err := os.Stat(name); err == nil {
		packs, err := loadPacks([]string{name})
		if err != nil {
			return nil, err
		}
		return packs[0], nil
	}
	installed, err := a.installed(ctx)
	if err != nil {
		return nil, err
	}
	in, err := findInstalled(installed, name)
	if err == nil {
		return in.Parse()
	}
	for _, p := range rules.DefaultPacks() {
		if means(name, p.Name, p.Digest) {
			return p, nil
		}
	}
	return nil, withHint(fmt.Errorf("%s is no file, and no pack that is installed", name), "dk rules list shows packs and their digests")
}

func (a *app) installed(ctx context.Context) ([]projections.InstalledPack, error) {
	dir, err := a.storeDir()
	if err != nil || !projections.IsStore(dir) {
		return nil, err
	}
	p, err := a.open(ctx, projections.Options{})
	if err != nil {
		return nil, err
	}
	installed, err := p.Installed(ctx)
	return installed, errors.Join(err, p.Close())
}
