package runner

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// A Job is one check to make.
type Job struct {
	Plan    *shell.Plan   // what to run; nil when only Paths are to be looked at
	Command string        // the text the plan was made from, for the record
	CWD     string        // absolute
	Root    string        // the granted root that CWD lies in; every cd must stay inside it, symlinks followed
	Timeout time.Duration // wall clock; DefaultTimeout when 0
	Expects []Expect      // matched on all of the output, while it streams
	Paths   []string      // looked at after the run, by this process itself; relative to CWD
}

// An Expect is something the output must, or must not, hold.
type Expect struct {
	What string // stdout_contains, stderr_contains, output_contains, output_excludes, output_matches (RE2, line by line)
	Want string
}

// DefaultTimeout bounds a job that names no timeout of its own.
const DefaultTimeout = 10 * time.Minute

// Options hold what is the same for every job of a store. The zero value works.
type Options struct {
	Environ []string // NAME=VALUE lines to pick from, by the allow-list; nil is this process's own environment
	KeepEnv []string // names to keep beyond the allow-list
	Path    string   // where programs are looked up; "" is the PATH of Environ
	TempDir string   // where the private HOME and TMPDIR of a run are made; "" is os.TempDir
	GoCache string   // GOCACHE of runs; "" is the user's own

	Hashes *Hashes // remembers the digests of programs between runs; nil is no memory

	Grace          time.Duration // between SIGTERM and SIGKILL after a timeout; 5 s when 0
	WaitDelay      time.Duration // how long output may stay open after the last process ended; 2 s when 0
	MaxOutputBytes int64         // both streams together; beyond it the run is ended; 256 MiB when 0
}

func (o Options) withDefaults() Options {
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.WaitDelay == 0 {
		o.WaitDelay = 2 * time.Second
	}
	if o.MaxOutputBytes == 0 {
		o.MaxOutputBytes = 256 << 20
	}
	if o.Hashes == nil {
		o.Hashes = new(Hashes)
	}
	return o
}

// The problems a run can end with, as written in [events.Run]. They are stable.
const (
	CWDUnknown           = "cwd_unknown"            // no working folder, or not an absolute one
	CWDMissing           = "cwd_missing"            // it, or the folder of a cd that decided the outcome, does not exist
	CWDNotDir            = "cwd_not_dir"            // it is not a folder
	CWDNotGranted        = "cwd_not_granted"        // it, or the folder of a cd, lies in no granted root
	ProgramNotFound      = "program_not_found"      // a program that matters is not on PATH
	ProgramNotExecutable = "program_not_executable" // it is there and may not be executed
	StartError           = "start_error"            // something could not be started as planned
	Timeout              = "timeout"                // stopped at the wall-clock limit
	OutputLimit          = "output_limit"           // stopped for writing without end
	ExpectInvalid        = "expect_invalid"         // an expectation cannot be matched: unknown kind, empty, no RE2
	UnsupportedPlatform  = "unsupported_platform"   // no way to run commands here
)

// A problem is what kept a check from running to its end. It is an error so that it can travel up the plan.
type problem struct {
	code   string
	detail string
}

func (p *problem) Error() string { return p.code + ": " + p.detail }

func problemf(code, format string, args ...any) *problem {
	return &problem{code: code, detail: fmt.Sprintf(format, args...)}
}

// check refuses a job that no caller should have made.
func (j Job) check() error {
	switch {
	case j.Plan == nil && len(j.Paths) == 0:
		return errors.New("run: a job needs a plan or paths")
	case j.Root == "":
		return errors.New("run: a job needs a granted root")
	case j.Timeout < 0:
		return fmt.Errorf("run: negative timeout %s", j.Timeout)
	}
	if j.Plan == nil {
		return nil
	}
	return checkPlan(j.Plan)
}

// checkPlan refuses plans that are not well formed; the analyser makes none.
func checkPlan(p *shell.Plan) error {
	switch p.Op {
	case shell.OpRun:
		if p.Exec == nil || len(p.Kids) > 0 {
			return errors.New("run: malformed plan: a run needs one exec and no kids")
		}
		return checkExec(p.Exec)
	case shell.OpNot, shell.OpSub:
		if len(p.Kids) != 1 {
			return fmt.Errorf("run: malformed plan: %s needs one kid", p.Op)
		}
	case shell.OpPipe, shell.OpAnd, shell.OpOr, shell.OpSeq:
		if len(p.Kids) == 0 {
			return fmt.Errorf("run: malformed plan: %s needs kids", p.Op)
		}
	default:
		return fmt.Errorf("run: malformed plan: unknown operation %q", p.Op)
	}
	for i := range p.Kids {
		if p.Op == shell.OpPipe && p.Kids[i].Op != shell.OpRun {
			return errors.New("run: malformed plan: only runs can be joined by pipes")
		}
		if err := checkPlan(&p.Kids[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkExec(e *shell.Exec) error {
	switch e.Builtin {
	case "", "cd", "lookup", "true":
	default:
		return fmt.Errorf("run: malformed plan: unknown builtin %q", e.Builtin)
	}
	if e.Builtin == "" && len(e.Argv) == 0 {
		return errors.New("run: malformed plan: a program needs a name")
	}
	for _, r := range e.Redirs {
		if r.FD < 0 || r.FD > maxFD || r.From < 0 || r.From > maxFD {
			return fmt.Errorf("run: malformed plan: descriptor out of range in %+v", r)
		}
		if r.File != "" && r.File != os.DevNull && !r.Read {
			return fmt.Errorf("run: malformed plan: %s would be written", r.File)
		}
	}
	return nil
}

// maxFD is the highest descriptor a redirection may name, as in the grammar of the shell.
const maxFD = 9

// checkExpects says what makes the expectations impossible to match, nil when nothing does. An empty one would always
// be met, so it is refused: it must not lend weight to a verdict.
func checkExpects(expects []Expect) *problem {
	for _, x := range expects {
		switch x.What {
		case stdoutContains, stderrContains, outputContains, outputExcludes:
		case outputMatches:
			if _, err := regexp.Compile(x.Want); err != nil {
				return problemf(ExpectInvalid, "%s: %v", x.What, err)
			}
		default:
			return problemf(ExpectInvalid, "unknown expectation %q", x.What)
		}
		if x.Want == "" {
			return problemf(ExpectInvalid, "%s: nothing to look for", x.What)
		}
	}
	return nil
}

// command or file, as in [events.Run].
func (j Job) kind() string {
	if j.Plan == nil {
		return "file"
	}
	return "command"
}

// record starts the evidence of a job.
func (j Job) record() events.Run {
	return events.Run{
		Check:     j.kind(),
		Command:   j.Command,
		TimeoutMS: j.Timeout.Milliseconds(),
		Sandbox:   events.Sandbox{Backend: "none"},
	}
}
