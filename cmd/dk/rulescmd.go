package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/rules"
)

func (a *app) rulesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Check, test, explain and activate rule packs",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return withHint(errors.New("say what to do with rules"), "dk rules check FILE, dk rules list")
		},
	}
	c.AddCommand(
		a.rulesCheckCommand(), a.rulesTestCommand(), a.rulesBenchCommand(), a.rulesExplainCommand(), a.rulesListCommand(),
		a.rulesInstallCommand(), a.rulesActivateCommand(), a.rulesDiffCommand(), a.rulesSchemaCommand(),
	)
	return c
}

func (a *app) rulesCheckCommand() *cobra.Command {
	var lax bool
	c := a.jsonFlag(&cobra.Command{
		Use:   "check FILE…",
		Short: "Compile rule packs and run the tests beside the rules",
		Long: `check compiles rule packs and runs their tests. Each fault is printed as file:line:col: message, or as JSON Lines
{"file", "line", "col", "severity", "rule", "message"}. Every rule needs a test that it matches and one that it does not.

Exit status: 0 fine, warnings aside; 1 a pack has a fault; 2 a file could not be read.`,
		Example: "  dk rules check team.yaml",
		Args:    needPack,
		RunE:    func(_ *cobra.Command, args []string) error { return a.rulesCheck(args, lax) },
	})
	c.Flags().BoolVar(&lax, "lax", false, "only warn about rules without tests")
	return c
}

func (a *app) rulesCheck(files []string, lax bool) error {
	bad := false
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return withHint(err, "name a rule pack, a YAML file")
		}
		p, faults := checkPack(file, src, lax)
		if err := a.printFaults(faults); err != nil {
			return err
		}
		if faults.Errors() {
			bad = true
			continue
		}
		a.err.printf("%s: %s, %s passed, %s\n", file, plural(len(p.Rules), "rule"), plural(countTests(p), "test"), p.Digest)
	}
	return negativeIf(bad)
}

func (a *app) printFaults(faults rules.Diagnostics) error {
	for _, f := range faults {
		if !a.json {
			a.out.printf("%s\n", clean(f.String()))
		} else if err := a.out.jsonLine(f); err != nil {
			return err
		}
	}
	return nil
}

// checkPack compiles a pack, looks for likely mistakes, and runs its tests; a failing test is a fault with a place, too. The
// pack is nil when it does not compile.
func checkPack(file string, src []byte, lax bool) (*rules.Pack, rules.Diagnostics) {
	p, err := rules.ParsePack(file, src)
	var faults rules.Diagnostics
	if errors.As(err, &faults) {
		return nil, faults
	}
	if err != nil {
		return nil, rules.Diagnostics{{File: file, Line: 1, Col: 1, Severity: rules.SeverityError, Message: err.Error()}}
	}
	faults = p.Lint()
	untested := p.Untested()
	if lax {
		untested = untested.Warnings()
	}
	return p, append(append(faults, untested...), failures(file, p)...)
}

// failures are the tests of a pack that fail.
func failures(file string, p *rules.Pack) (faults rules.Diagnostics) {
	for _, r := range p.RunTests() {
		if !r.OK() {
			faults = append(faults, rules.Diagnostic{
				File: file, Line: r.Line, Col: 1, Severity: rules.SeverityError, Rule: r.Rule,
				Message: "test " + quote(r.Test) + ": want " + r.Want + ", got " + r.Got + suffix(r.Err),
			})
		}
	}
	return faults
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// ruleLine is the form of a rule on stdout with --json.
type ruleLine struct {
	Pack       string `json:"pack"`
	Version    string `json:"version"`
	PackDigest string `json:"pack_digest"`
	ID         string `json:"id"`
	Phase      string `json:"phase"`
	Effect     string `json:"effect"`
	Mode       string `json:"mode"`
	Reason     string `json:"reason"`
	Digest     string `json:"digest"`
}

func (a *app) rulesListCommand() *cobra.Command {
	var files []string
	c := a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the rules in force, with their packs, modes and digests",
		Long: `list shows the rules that verify decides by: those of the default packs, unless an activation in the store says otherwise,
and those that were activated.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.rulesList(c.Context(), files) },
	})
	c.Flags().StringArrayVar(&files, "rules", nil, "rule pack of your own, as with verify --rules (repeatable)")
	return c
}

func (a *app) rulesList(ctx context.Context, files []string) error {
	active, err := a.inForce(ctx, files)
	if err != nil {
		return err
	}
	set, err := rules.Activate(active...)
	if err != nil {
		return withHint(err, "dk rules activate says which packs are in force")
	}
	for _, m := range set.Active() {
		if !a.json {
			a.out.printf("%s %s %s\n", m.Pack.Name, m.Pack.Version, a.out.paint(dim, m.Pack.Digest))
		}
		for _, r := range m.Pack.Rules {
			l := ruleLine{m.Pack.Name, m.Pack.Version, m.Pack.Digest, r.ID, r.Phase, r.Effect, m.Mode(r), r.Reason, r.Digest}
			if err := a.printRule(l); err != nil {
				return err
			}
		}
	}
	a.err.printf("rule set %s\n", set.Digest())
	return nil
}

func (a *app) printRule(l ruleLine) error {
	if a.json {
		return a.out.jsonLine(l)
	}
	digest := l.Digest[:min(len(l.Digest), len("sha256:")+12)]
	a.out.printf("  %s %s %s %s %s %s\n", pad(l.Phase, 6), pad(l.Effect, 13), pad(l.ID, 28), pad(l.Mode, 8), a.out.paint(dim, digest), l.Reason)
	return nil
}

func (a *app) rulesSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rule packs, for editors",
		Long: `schema prints the JSON Schema of rule packs. With the YAML language server, the first line of a pack names it:

  # yaml-language-server: $schema=pack.schema.json`,
		Example: "  dk rules schema > pack.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.out.printf("%s", rules.PackSchema)
			return nil
		},
	}
}
