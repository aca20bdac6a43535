package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

type gateFlags struct {
	cwd, lines, kind string
	rules            []string
	defaults         bool

	scripts rules.ReadScript // reads the files of cwd; nil without one
}

func (a *app) gateCommand() *cobra.Command {
	var f gateFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "gate [flags] -- COMMAND",
		Short: "Ask whether a command would be allowed to run, and run nothing",
		Long: `gate judges a command by its text, as verify would. With --cwd it also reads what the scripts are that the command runs
(package.json, Makefile, justfile, composer.json and the like in that folder), and judges what is in them. One argument is a
command line; several are one command with its arguments, quoted as needed.

It decides by the rules that the store has in force, or by the default packs when there is no store.

With --lines FILE it reads JSON Lines with a member "cmd" and answers each, in order, with
{"cmd", "decision": "allow"|"refuse", "reason", "rules"}. FILE may be - for stdin.

Exit status: 0 allowed (with --lines: all was answered), 1 refused, 2 something could not be done.`,
		Example: `  dk gate 'cd web && npm test'
  dk gate -- go test ./...
  dk gate --lines commands.jsonl`,
		RunE: func(c *cobra.Command, args []string) error { return a.gate(c.Context(), args, f) },
	})
	c.Flags().StringVar(&f.cwd, "cwd", "", "folder it would run in; without one the text alone is judged")
	c.Flags().StringVar(&f.lines, "lines", "", "file of JSON Lines with a member cmd; - is stdin")
	c.Flags().StringVar(&f.kind, "kind", "command", "kind of the claim it would be run for")
	c.Flags().StringArrayVar(&f.rules, "rules", nil, "rule pack of your own, beside those in force (repeatable)")
	c.Flags().BoolVar(&f.defaults, "defaults", false, "decide by the default packs, whatever the store has in force")
	return c
}

// gateLine is the form of a decision on stdout with --json.
type gateLine struct {
	Cmd      string   `json:"cmd"`
	Decision string   `json:"decision"`
	Reason   string   `json:"reason"`
	Why      string   `json:"why,omitempty"`
	Rules    []string `json:"rules"`
}

func (a *app) gate(ctx context.Context, args []string, f gateFlags) error {
	if f.lines == "" && len(args) == 0 {
		return withHint(errors.New("no command named"), "dk gate 'go test ./... | tail -5'")
	}
	set, err := a.gateRules(ctx, f)
	if err != nil {
		return err
	}
	if err := f.folder(); err != nil {
		return err
	}
	if f.lines != "" {
		return a.gateLines(set, f)
	}
	line := decide(set, commandText(args), f)
	if a.json {
		err = a.out.jsonLine(line)
	} else {
		a.printDecision(line)
	}
	if err != nil {
		return err
	}
	return negativeIf(line.Decision != "allow")
}

func (a *app) gateRules(ctx context.Context, f gateFlags) (*rules.Ruleset, error) {
	var err error
	active := projections.Defaults()
	if !f.defaults {
		active, err = a.standing(ctx)
	}
	if err == nil {
		active, err = withPacks(active, f.rules)
	}
	if err != nil && !errors.As(err, new(hintError)) {
		err = withHint(err, "dk gate --defaults decides by the default packs alone, without the store")
	}
	if err != nil {
		return nil, err
	}
	return rules.Activate(active...)
}

// folder makes the folder absolute, as absolute paths in a command are understood by it, and opens its scripts.
func (f *gateFlags) folder() error {
	if f.cwd == "" {
		return nil
	}
	if info, err := os.Stat(f.cwd); err != nil || !info.IsDir() {
		return withHint(fmt.Errorf("--cwd %s: no such folder", f.cwd), "name the folder in which the command would run")
	}
	var err error
	if f.scripts, err = projections.ScriptsIn(f.cwd); err != nil {
		return err
	}
	f.cwd, err = filepath.Abs(f.cwd)
	return err
}

// facts are those of a claim; without a folder the text is all there is.
func (f gateFlags) facts(command string) rules.Facts {
	claim := events.Claim{ClaimID: "gate", Text: "dk gate", Kind: f.kind, Verify: command}
	if f.scripts == nil {
		return rules.NewFacts(claim, "")
	}
	return rules.NewFactsWith(claim, f.cwd, f.scripts)
}

func (a *app) printDecision(l gateLine) {
	mark := a.out.paint(green, "✓ allow ")
	if l.Decision != "allow" {
		mark = a.out.paint(red, "⊘ refuse")
	}
	a.out.printf("%s  %s\n          %s\n", mark, a.out.paint(bold, short(l.Cmd, 120)), short(l.Why, 240))
}

func decide(set *rules.Ruleset, command string, f gateFlags) gateLine {
	d := set.Gate(f.facts(command))
	line := gateLine{Cmd: command, Decision: "refuse", Reason: d.Reason, Why: d.Why, Rules: []string{}}
	want := "deny"
	if d.Allow {
		line.Decision, want = "allow", "allow"
	}
	seen := make(map[string]bool)
	for _, r := range d.Rules {
		if r.Mode == "" && (r.Effect == want || r.Outcome == "error") && !seen[r.Rule] {
			seen[r.Rule] = true
			line.Rules = append(line.Rules, r.Rule)
		}
	}
	return line
}

// commandText makes a command line of arguments.
func commandText(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = quote(arg)
	}
	return strings.Join(words, " ")
}

const plainChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+"

func quote(s string) string {
	if s != "" && strings.Trim(s, plainChars) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// maxGateLine bounds one line of --lines.
const maxGateLine = 4 << 20

func (a *app) gateLines(set *rules.Ruleset, f gateFlags) error {
	in := a.stdin
	if f.lines != "-" {
		file, err := os.Open(f.lines)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	out := bufio.NewWriter(a.out.w)
	err := gateEach(set, in, out, f)
	return errors.Join(err, out.Flush())
}

func gateEach(set *rules.Ruleset, in io.Reader, out io.Writer, f gateFlags) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), maxGateLine)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var bad error
	for n := 1; sc.Scan(); n++ {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		var l struct {
			Cmd *string `json:"cmd"`
		}
		// Every line gets its answer, in order; one that asks nothing is refused, and named at the end.
		line := gateLine{Decision: "refuse", Reason: "bad_line", Rules: []string{}}
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			bad = cmp.Or(bad, fmt.Errorf("line %d: %w", n, err))
		} else if l.Cmd == nil {
			bad = cmp.Or(bad, fmt.Errorf("line %d: no member cmd", n))
		} else {
			line = decide(set, *l.Cmd, f)
			line.Why = ""
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	if err := errors.Join(sc.Err(), bad); err != nil {
		return withHint(err, `each line is a JSON object such as {"cmd":"go test ./..."}`)
	}
	return nil
}
