package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/rules"
)

func (a *app) rulesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Check rule packs",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withHint(errors.New("say what to do with rules"), "dk rules check FILE, dk rules list")
		},
	}
	c.AddCommand(a.rulesCheckCommand(), a.rulesListCommand())
	return c
}

func (a *app) rulesCheckCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "check FILE…",
		Short: "Compile rule packs and run the tests beside the rules",
		Long: `check compiles rule packs and runs their tests. Each fault is printed as file:line:col: message, or as JSON Lines.

Exit status: 0 fine, 1 a pack has a fault, 2 a file could not be read.`,
		Example: "  dk rules check team.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return withHint(errors.New("no pack named"), "dk rules check FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.rulesCheck(args) },
	})
}

func (a *app) rulesCheck(files []string) error {
	bad := false
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p, faults := checkPack(file, src)
		for _, f := range faults {
			bad = true
			if a.json {
				if err := a.out.jsonLine(f); err != nil {
					return err
				}
				continue
			}
			a.out.printf("%s\n", clean(f.String()))
		}
		if p == nil || len(faults) > 0 {
			continue
		}
		for _, id := range p.Untested() {
			a.err.printf("%s: %s: give it a test that matches and one that does not\n", file, id)
		}
		a.err.printf("%s: %s, %s passed, %s\n", file, plural(len(p.Rules), "rule"), plural(len(p.RunTests()), "test"), p.Digest)
	}
	return negativeIf(bad)
}

// checkPack compiles a pack and runs its tests; a failing test is a fault with a place, too.
func checkPack(file string, src []byte) (*rules.Pack, rules.Diagnostics) {
	p, err := rules.ParsePack(file, src)
	var faults rules.Diagnostics
	if errors.As(err, &faults) {
		return nil, faults
	}
	if err != nil {
		return nil, rules.Diagnostics{{File: file, Line: 1, Col: 1, Message: err.Error()}}
	}
	for _, r := range p.RunTests() {
		if !r.OK() {
			faults = append(faults, rules.Diagnostic{
				File: file, Line: r.Line, Col: 1, Rule: r.Rule,
				Message: "test " + quote(r.Test) + ": want " + r.Want + ", got " + r.Got + suffix(r.Err),
			})
		}
	}
	return p, faults
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// ruleLine is the form of a rule on stdout with --json.
type ruleLine struct {
	Pack   string `json:"pack"`
	ID     string `json:"id"`
	Phase  string `json:"phase"`
	Effect string `json:"effect"`
	Reason string `json:"reason"`
	Digest string `json:"digest"`
}

func (a *app) rulesListCommand() *cobra.Command {
	var files []string
	c := a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the rules in force",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			packs, err := loadPacks(files)
			if err != nil {
				return err
			}
			return a.rulesList(append(rules.DefaultPacks(), packs...))
		},
	})
	c.Flags().StringArrayVar(&files, "rules", nil, "rule pack of your own (repeatable)")
	return c
}

func (a *app) rulesList(packs []*rules.Pack) error {
	for _, p := range packs {
		for _, r := range p.Rules {
			if a.json {
				if err := a.out.jsonLine(ruleLine{p.Name, r.ID, r.Phase, r.Effect, r.Reason, r.Digest}); err != nil {
					return err
				}
				continue
			}
			a.out.printf("%s %s %s %s\n", pad(r.Phase, 6), pad(r.Effect, 13), pad(r.ID, 28), r.Reason)
		}
	}
	return nil
}
