package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/rules"
)

type rulesTestFlags struct {
	coverage float64
	mutate   bool
}

func (a *app) rulesTestCommand() *cobra.Command {
	var f rulesTestFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "test [FILE…]",
		Short: "Run the tests of rule packs, and see what they leave out",
		Long: `test runs the tests beside the rules of packs, by default of the default packs.

With --coverage N each sub-expression that is true or false is to be seen as both by the rule's own tests; N is the share
of these outcomes, in percent, that every rule and variable has to reach. It is never rounded up.

With --mutate each such sub-expression is changed in turn (negated, operands of && and || dropped, && and || swapped, ==
and != swapped), and some test has to fail. What survives is listed: no test says that it matters.

Exit status: 0 fine; 1 a test fails, a rule is below N, or a change survives; 2 a file could not be read.`,
		Example: "  dk rules test --coverage 100 --mutate team.yaml",
		RunE:    func(_ *cobra.Command, args []string) error { return a.rulesTest(args, f) },
	})
	c.Flags().Float64Var(&f.coverage, "coverage", -1, "least share of outcomes, in percent, that the tests of each rule see")
	c.Flags().BoolVar(&f.mutate, "mutate", false, "change each rule in turn: some test has to fail")
	return c
}

// testedPack is a pack with the file it came from, for messages.
type testedPack struct {
	file string
	*rules.Pack
}

// packsOf reads packs, or takes the default ones. A pack that does not compile is a fault; nil then.
func (a *app) packsOf(files []string) ([]testedPack, error) {
	var out []testedPack
	if len(files) == 0 {
		for _, p := range rules.DefaultPacks() {
			out = append(out, testedPack{p.Name, p})
		}
		return out, nil
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, withHint(err, "name a rule pack, a YAML file")
		}
		p, err := rules.ParsePack(file, src)
		var faults rules.Diagnostics
		if errors.As(err, &faults) {
			if err := a.printFaults(faults); err != nil {
				return nil, err
			}
			return nil, negativeError{}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, testedPack{file, p})
	}
	return out, nil
}

func (a *app) rulesTest(files []string, f rulesTestFlags) error {
	packs, err := a.packsOf(files)
	if err != nil {
		return err
	}
	bad := false
	for _, p := range packs {
		faults := failures(p.file, p.Pack)
		if f.coverage >= 0 {
			if err := a.coverage(p, f.coverage, &faults); err != nil {
				return err
			}
		}
		if f.mutate {
			if err := a.mutate(p, &faults); err != nil {
				return err
			}
		}
		if err := a.printFaults(faults); err != nil {
			return err
		}
		a.err.printf("%s: %s of %s\n", p.file, plural(countTests(p.Pack), "test"), plural(len(p.Rules), "rule"))
		bad = bad || faults.Errors()
	}
	return negativeIf(bad)
}

// coverage adds a fault for each outcome that is not seen, in rules that stay below what is asked for.
func (a *app) coverage(p testedPack, want float64, faults *rules.Diagnostics) error {
	all, err := p.Coverage()
	if err != nil {
		return err
	}
	seen, wanted := 0, 0
	for _, c := range all {
		seen, wanted = seen+c.Seen, wanted+c.Wanted
		severity := rules.SeverityWarning
		if float64(c.Seen)*100 < want*float64(c.Wanted) {
			severity = rules.SeverityError
		}
		for _, g := range c.Missing {
			*faults = append(*faults, rules.Diagnostic{
				File: p.file, Line: g.Line, Col: g.Col, Severity: severity, Rule: c.Name,
				Message: fmt.Sprintf("covered %s: no test sees %s as %t", percent(c.PerMille()), g.Expr, g.Outcome),
			})
		}
	}
	a.err.printf("%s: coverage %s, %d of %d outcomes\n", p.file, percent(rules.Coverage{Seen: seen, Wanted: wanted}.PerMille()), seen, wanted)
	return nil
}

func percent(perMille int) string { return fmt.Sprintf("%d.%d %%", perMille/10, perMille%10) }

// mutate adds a fault for each change that no test notices.
func (a *app) mutate(p testedPack, faults *rules.Diagnostics) error {
	all, err := p.Mutants()
	if err != nil {
		return err
	}
	killed := 0
	for _, m := range all {
		if m.Killed {
			killed++
			continue
		}
		*faults = append(*faults, rules.Diagnostic{
			File: p.file, Line: m.Line, Col: m.Col, Severity: rules.SeverityError, Rule: m.Name,
			Message: "no test notices this change: " + m.Change,
		})
	}
	a.err.printf("%s: %d of %s noticed\n", p.file, killed, plural(len(all), "change"))
	return nil
}

func (a *app) rulesBenchCommand() *cobra.Command {
	var budget time.Duration
	c := a.jsonFlag(&cobra.Command{
		Use:   "bench [FILE…]",
		Short: "Time each rule, and all of them, over the facts of the packs' own tests",
		Long: `bench times one evaluation of each rule of packs, by default of the default packs, over the facts of the rule's own tests;
and then whole decisions of the gate and the judge by all of the packs, over the facts of all tests.`,
		Example: "  dk rules bench team.yaml",
		RunE:    func(_ *cobra.Command, args []string) error { return a.rulesBench(args, budget) },
	})
	c.Flags().DurationVar(&budget, "time", 50*time.Millisecond, "how long to time each rule")
	return c
}

// benchLine is the form of a time on stdout with --json.
type benchLine struct {
	Rule        string `json:"rule"` // "" is a whole decision
	What        string `json:"what"` // rule, gate, judge
	Evaluations int    `json:"evaluations"`
	NS          int64  `json:"ns"` // of one
}

func (a *app) rulesBench(files []string, budget time.Duration) error {
	packs, err := a.packsOf(files)
	if err != nil {
		return err
	}
	all := make([]*rules.Pack, len(packs))
	var facts []rules.Facts
	for i, p := range packs {
		all[i] = p.Pack
		facts = append(facts, p.TestFacts()...)
		for _, t := range p.Trials() {
			if err := a.printBench(timed(benchLine{Rule: t.Rule, What: "rule", Evaluations: t.Evaluations}, t.Do, budget)); err != nil {
				return err
			}
		}
	}
	set, err := rules.NewRuleset(all...)
	if err != nil || len(facts) == 0 {
		return err
	}
	whole := func(what string, decide func(rules.Facts)) error {
		do := func() {
			for _, f := range facts {
				decide(f)
			}
		}
		return a.printBench(timed(benchLine{What: what, Evaluations: len(facts)}, do, budget))
	}
	return errors.Join(
		whole("gate", func(f rules.Facts) { set.Gate(f) }),
		whole("judge", func(f rules.Facts) { set.Judge(f) }),
	)
}

// timed repeats do for a while, and divides.
func timed(l benchLine, do func(), budget time.Duration) benchLine {
	do() // what is made once is made here
	n, start := 0, time.Now()
	for took := time.Duration(0); took < budget || n == 0; took = time.Since(start) {
		do()
		n++
	}
	l.NS = time.Since(start).Nanoseconds() / int64(n*max(l.Evaluations, 1))
	return l
}

func (a *app) printBench(l benchLine) error {
	if a.json {
		return a.out.jsonLine(l)
	}
	name := l.Rule
	if name == "" {
		name = strings.ToUpper(l.What[:1]) + l.What[1:] + ", all rules"
	}
	a.out.printf("%s %10.2f µs\n", pad(name, 32), float64(l.NS)/1000)
	return nil
}

func countTests(p *rules.Pack) (n int) {
	for _, r := range p.Rules {
		n += len(r.Tests)
	}
	return n
}
