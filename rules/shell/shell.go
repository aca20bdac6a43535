// Package shell reads the text of a command and says what it would do, without doing any of it.
//
// It fails closed: what it does not understand is refused with a code, a position and the word, and every fact about a
// command starts at its worst.
//
// [Analyse] parses with mvdan.cc/sh and lowers the tree, by a closed switch, to a [Plan]: argument vectors joined by
// pipes, &&, || and ;, with cd, environment prefixes, and redirections to /dev/null and between descriptors. What has no
// place in a plan is refused. The runner executes the plan and no shell ever sees the text, so what was analysed is what
// runs.
//
// The facts about each simple command come from tables of tools, see tools/*.yaml: which sub-commands and flags there
// are and what their values mean. An unknown tool, sub-command or flag is unknown, never harmless.
//
// Scripts of the project (npm run x, make x, just x) are known by their names only, unless the files that hold them are
// handed in: then [AnalyseWith] reads their commands, too, see project.go and tidy.go for what is taken as ordinary there.
//
// Nothing here touches the file system, the environment or the clock. All functions are safe for concurrent use.
package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Version names this analyser and its tables; receipts record it, and a change of either changes it.
const Version = "shell@2"

// An Analysis is what is known of a command from its text alone.
type Analysis struct {
	Text     string    `json:"text"`
	Parsed   bool      `json:"parsed"`   // false when there is any refusal; there is no plan then
	Refusals []Refusal `json:"refusals"` // never nil
	// Calls are the simple commands in order; what could be read of them, even when not Parsed. Those of the scripts that it
	// runs follow, see Call.Via.
	Calls    []Call   `json:"calls"`
	Programs []string `json:"programs"` // the calls' names, wrappers peeled, sorted, each once
	// Vacuous: no call in it checks anything (echo, true, cd and the like).
	Vacuous bool `json:"vacuous"`
	// MasksExit: its status is not that of what it checks (`go test | tail`, `go test || true`, `go test; echo done`).
	MasksExit bool  `json:"masks_exit"`
	Plan      *Plan `json:"plan,omitempty"`
	// Sources are the files that were asked what the scripts in it are. A change of one is a change of what it runs.
	Sources []Source `json:"sources"`

	wanted []string // files that were asked for and not given
}

// A Refusal says why a text has no plan.
type Refusal struct {
	Code string `json:"code"` // stable: not_utf8, control_character, too_long, too_deep, syntax, loop, function, …
	Line int    `json:"line"` // from 1
	Col  int    `json:"col"`  // in bytes, from 1
	Word string `json:"word"` // the offending text, capped
}

// A Call is one simple command, its wrappers (env, timeout, …) peeled off.
type Call struct {
	Name     string   `json:"name"`      // base name of the program, as written
	PathKind string   `json:"path_kind"` // bare, repo (./x, bin/x), absolute, outside (../x, ~)
	Argv     []string `json:"argv"`      // as written after quote removal, of the peeled command
	Tool     string   `json:"tool"`      // the table's name for it; "" when no table knows it
	Sub      string   `json:"sub"`       // sub-command; "" if none
	Command  string   `json:"command"`   // tool, or "tool sub"; "" when unknown
	Eco      string   `json:"eco"`       // go, npm, python, … ; "" when unknown
	// Class: check runs tests, a build or a linter; read looks, and its status answers a question; filter is read without a
	// file of its own, fed by a pipe; print, dir (cd, pwd); unknown.
	Class    string    `json:"class"`
	Known    bool      `json:"known"`    // tool, sub-command, every flag and operand are understood
	Unknown  []string  `json:"unknown"`  // what is not, for people
	Flags    []string  `json:"flags"`    // flags given, as the table spells them, sorted, without values
	Operands []Operand `json:"operands"` // operands and values of flags that are more than opaque
	Script   string    `json:"script"`   // name of a project script or target it runs (npm run X, make X); "" if none
	// ScriptOpaque: not all of what the script does is known, and its name decides. Without the project's files, always.
	ScriptOpaque bool   `json:"script_opaque"`
	Body         string `json:"body"` // text of the scripts it runs, as far as they were found; capped
	Via          string `json:"via"`  // the script that this call is in, "npm test > npm lint"; "" in the text itself
	// Hides: what its script checks may fail without its status saying so.
	Hides    bool       `json:"hides"`
	Wrappers []string   `json:"wrappers"` // names, outermost first
	Env      []EnvVar   `json:"env"`      // assignments in front of it or in `env`
	Redirs   []Redirect `json:"redirs"`
	// Effects is the harm it can do: background, config (changes or adds what runs code), container, database, delete, deploy,
	// disk, execute (runs code that is not the repository's, or that we cannot see), install, kill, mail, network,
	// network_write, overwrite, persist, power, privilege, publish, secret, vcs_write. Sorted.
	Effects  []string `json:"effects"`
	Verifies bool     `json:"verifies"` // it is run for its status, see Exec.Checks
}

// An Operand is a word with a meaning.
type Operand struct {
	Value string `json:"value"`
	Role  string `json:"role"` // read, stat (looks, does not open), write, exec (names code), url, dir, opaque, glob
	// Place, judged from the text and the cd before it: repo, artifact (a repo path that is written by builds and reports:
	// dist/, coverage.out), git_dir, tmp, null, home, secret, system, device, outside, loopback, remote, unknown.
	Place string `json:"place"`
}

// An EnvVar is an assignment in front of a command.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Class string `json:"class"` // benign, steering (changes which code runs or which endpoint is used), custom
}

// A Redirect is one redirection.
type Redirect struct {
	Op    string `json:"op"` // >, >>, <, 2>&1 …
	Place string `json:"place"`
	Value string `json:"value"`
}

// Op says how the parts of a Plan are joined.
type Op string

// The operations of a plan.
const (
	OpRun  Op = "run"  // one Exec
	OpPipe Op = "pipe" // Kids are runs, joined by pipes
	OpAnd  Op = "and"  // each kid only if the one before succeeded
	OpOr   Op = "or"   // each kid only if the one before failed
	OpSeq  Op = "seq"  // one after the other
	OpNot  Op = "not"  // one kid, its status negated
	OpSub  Op = "sub"  // one kid, in a subshell: its cd does not last
)

// A Plan is a command ready to be executed without a shell.
type Plan struct {
	Op   Op     `json:"op"`
	Kids []Plan `json:"kids,omitempty"`
	Exec *Exec  `json:"exec,omitempty"` // of OpRun
}

// An Exec is one process to start, or the builtin cd, command -v or : (see Builtin).
type Exec struct {
	Call    int        `json:"call"`              // index into Analysis.Calls
	Builtin string     `json:"builtin,omitempty"` // cd, lookup (command -v NAME), true; "" is a program
	Argv    []Word     `json:"argv"`
	Env     []Assign   `json:"env,omitempty"`
	Redirs  []FDAction `json:"redirs,omitempty"` // in order
	// Checks: its status is what the command is run for, see Analysis.MasksExit.
	Checks bool `json:"checks,omitempty"`
}

// An Assign is one environment assignment of an Exec.
type Assign struct {
	Name  string `json:"name"`
	Value Word   `json:"value"`
}

// A Word is one argument. It has one part unless it mixes literal text with something known only at run time.
type Word []Part

// A Part of a word. Text is final: quotes and escapes are gone.
type Part struct {
	// Kind is lit, glob (a pattern to expand against the working folder; in it a backslash quotes the next byte, and a word
	// without a match stands as it is without those backslashes; what expands to a word that starts with a dash must not run), status ($?), pipestatus (${PIPESTATUS[N]}, Text = N).
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// An FDAction is one redirection the runner carries out, in order.
type FDAction struct {
	FD   int    `json:"fd"`             // the descriptor it sets
	From int    `json:"from,omitempty"` // descriptor it becomes a copy of, when File is ""
	File string `json:"file,omitempty"` // "/dev/null", or for `<` a file to read
	Read bool   `json:"read,omitempty"`
}

// Analyse reads the text of a command. It never fails: what it cannot understand is in Refusals.
func Analyse(text string) Analysis { return AnalyseIn("", text) }

// AnalyseIn is [Analyse] for a command that runs in root, the absolute path of a repository: absolute paths under it are
// places of the repository too, as in `cd /home/me/repo/web && npm test`. Any other root is as if none were given.
func AnalyseIn(root, text string) Analysis { return analyse(root, text, nil) }

// cleanRoot is "" for what is not a folder below the top ones.
func cleanRoot(root string) string {
	if root = path.Clean(root); !path.IsAbs(root) || strings.Count(root, "/") < 2 {
		return ""
	}
	return root
}

// analyse is all of the above; proj is nil when nothing is known of the project.
func analyse(root, text string, proj *project) Analysis {
	a := Analysis{Text: text, Refusals: []Refusal{}, Calls: []Call{}, Programs: []string{}, Sources: []Source{}, Vacuous: true, MasksExit: true}
	if ref := checkBytes(text); ref != nil {
		a.Refusals = append(a.Refusals, *ref)
		return a
	}
	f, ref := parse(text)
	if ref != nil {
		a.Refusals = append(a.Refusals, *ref)
		a.Calls = (&lowerer{src: text, tab: theTables(), ok: []string{""}}).guess(text)
		a.Programs = programs(a.Calls)
		return a
	}
	l := &lowerer{src: text, root: cleanRoot(root), tab: theTables(), proj: proj, ok: []string{""}, fail: []string{""}}
	p, ok := l.program(f, shellOpts{})
	if len(l.calls) > maxCalls {
		l.refuse(&Refusal{Code: "too_many_calls", Line: 1, Col: 1})
	}
	if !ok || len(l.refusals) > 0 {
		a.refused(l, f)
		return a
	}
	a.Parsed, a.Plan, a.Calls = true, &p, complete(l.calls)
	a.Vacuous, a.MasksExit = annotate(&p, a.Calls)
	a.scripts(l)
	a.Programs = programs(a.Calls)
	return a
}

// scripts adds what the project's files show of a command that has a plan.
func (a *Analysis) scripts(l *lowerer) {
	if l.proj == nil {
		return
	}
	for i := range a.Calls {
		c := &a.Calls[i]
		a.MasksExit = a.MasksExit || (c.Verifies && c.Hides)
		if l.proj.problem != "" {
			c.Known, c.Unknown = false, append(c.Unknown, shown(l.proj.problem))
		}
	}
	a.Calls = append(a.Calls, l.resolved...)
	a.Sources, a.wanted = l.proj.sources(), l.proj.wanted
}

// refused fills in what can be said of a text that has no plan.
func (a *Analysis) refused(l *lowerer, f *syntax.File) {
	a.Refusals = append(a.Refusals, l.refusals...)
	if len(a.Refusals) == 0 {
		a.Refusals = append(a.Refusals, Refusal{Code: "internal", Line: 1, Col: 1})
	}
	a.Calls = append(a.Calls, complete(l.salvage(a.Text, f))...)
	a.Programs = programs(a.Calls)
	for i := range a.Calls {
		if c := a.Calls[i].Class; c == "check" || c == "read" {
			a.Vacuous = false
		}
	}
}

// complete makes every list of a call a list, and draws the conclusion from a secret that is read by redirection.
func complete(calls []Call) []Call {
	for i := range calls {
		c := &calls[i]
		if c.Redirs == nil {
			c.Redirs = []Redirect{}
		}
		for _, r := range c.Redirs {
			if r.Place == "secret" && !slices.Contains(c.Effects, "secret") {
				c.Effects = append(c.Effects, "secret")
				slices.Sort(c.Effects)
			}
		}
	}
	return calls
}

func programs(calls []Call) []string {
	out := []string{}
	for _, c := range calls {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
