package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// timing are the waits of an executor.
type timing struct {
	Grace     time.Duration // between SIGTERM and SIGKILL
	WaitDelay time.Duration // for output that stays open
}

// An executor carries out one plan, with the meaning that bash gives it and no shell. It belongs to one goroutine; what
// it starts for a pipeline has ended when the pipeline returns.
type executor struct {
	task     task
	out      outputs
	herd     *herd
	programs *programs
	ordinal  map[*shell.Exec]int

	stages   []events.Stage
	results  []int
	faults   map[int]*fault // by ordinal
	usage    usage
	argBytes int // of all arguments so far
}

// execute carries out a task in this process. The error is the cause of the end of ctx, when that came first.
func execute(ctx context.Context, t task, out outputs) (report, error) {
	e := &executor{
		task: t, out: out, herd: newHerd(), ordinal: make(map[*shell.Exec]int), faults: make(map[int]*fault),
		programs: &programs{root: t.Root, path: t.Path, dropped: t.Dropped, tools: t.Tools, hashes: t.Hashes},
	}
	for _, x := range execs(t.Plan) {
		e.ordinal[x] = len(e.results)
		e.results = append(e.results, notRun)
	}
	watch := e.herd.watch(ctx, t.Timing.Grace)
	st := &state{dir: t.CWD, decider: -1}
	err := e.run(ctx, t.Plan, st)
	watch()
	e.herd.close()

	r := report{Stages: e.stages, Results: e.results, Status: st.status, Degraded: e.herd.spawn.degraded()}
	r.UserMS, r.SystemMS, r.MaxRSSKB = e.usage.user.Milliseconds(), e.usage.system.Milliseconds(), e.usage.maxRSSKB
	var p *problem
	switch {
	case ctx.Err() != nil && (err != nil || e.herd.stopped()):
		return r, context.Cause(ctx)
	case errors.As(err, &p):
		r.Problem, r.Detail = p.code, p.detail
	case err != nil:
		r.Problem, r.Detail = StartError, err.Error()
	default:
		if f := e.deciding(st); f != nil {
			r.Problem, r.Detail = f.code, f.detail
		}
	}
	return r, nil
}

// execs lists the execs of a plan in the order in which they are written.
func execs(p *shell.Plan) []*shell.Exec {
	if p.Op == shell.OpRun {
		return []*shell.Exec{p.Exec}
	}
	var all []*shell.Exec
	for i := range p.Kids {
		all = append(all, execs(&p.Kids[i])...)
	}
	return all
}

// deciding finds a command that could not be run and that matters: one that checks, or the one whose status is the
// outcome. Others are like any command that fails: `pytest || python -m pytest` may go on.
func (e *executor) deciding(st *state) *fault {
	for i, x := range execs(e.task.Plan) {
		if f := e.faults[i]; f != nil && x.Checks {
			return f
		}
	}
	return e.faults[st.decider]
}

// run carries out one node and leaves its status in st. An error ends the whole plan.
func (e *executor) run(ctx context.Context, p *shell.Plan, st *state) error {
	switch p.Op {
	case shell.OpRun:
		return e.pipeline(ctx, []*shell.Exec{p.Exec}, st)
	case shell.OpPipe:
		return e.pipeline(ctx, execs(p), st)
	case shell.OpNot:
		if err := e.run(ctx, &p.Kids[0], st); err != nil {
			return err
		}
		st.status = negate(st.status)
		return nil
	case shell.OpSub:
		inner := *st
		if err := e.run(ctx, &p.Kids[0], &inner); err != nil {
			return err
		}
		st.status, st.decider, st.pipe = inner.status, inner.decider, []int{inner.status}
		return nil
	}
	for i := range p.Kids {
		if i > 0 && (p.Op == shell.OpAnd && st.status != 0 || p.Op == shell.OpOr && st.status == 0) {
			break
		}
		if err := e.run(ctx, &p.Kids[i], st); err != nil {
			return err
		}
	}
	return nil
}

func negate(status int) int {
	if status == 0 {
		return 1
	}
	return 0
}

// builtin carries out what a shell would do itself. alone is false in a pipeline, where a cd does not last.
func (e *executor) builtin(s *stage, st *state, alone bool) (int, error) {
	switch s.exec.Builtin {
	case "cd":
		if !alone {
			inner := *st
			st = &inner
		}
		return e.cd(s, st)
	case "lookup":
		return e.lookup(s), nil
	}
	return 0, nil
}

// cd changes the folder as a shell does, by name, and refuses to leave the granted root.
func (e *executor) cd(s *stage, st *state) (int, error) {
	args := s.argv[min(1, len(s.argv)):]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return 0, problemf(StartError, "cd needs one folder, got %q", args)
	}
	to := args[0]
	if !filepath.IsAbs(to) {
		to = filepath.Join(st.dir, to)
	}
	resolved, _, code, detail := CheckCWD(to, []string{e.task.Root})
	switch code {
	case "":
		st.dir = to
		if !inside(e.task.Root, to) {
			st.dir = resolved // came in through a link from outside: stay with the real name
		}
		return 0, nil
	case CWDNotGranted:
		return 0, problemf(code, "cd %s: %s", args[0], detail)
	}
	said := "No such file or directory"
	if code == CWDNotDir {
		said = "Not a directory"
	}
	e.faults[s.ordinal] = &fault{status: 1, code: code, detail: "cd " + args[0] + ": " + detail}
	s.say("cd: " + args[0] + ": " + said)
	return 1, nil
}

// maxBuiltinBytes bounds what a builtin writes, below what a pipe holds: its reader may not have started yet.
const maxBuiltinBytes = 32 << 10

// lookup is `command -v` and `type`: it tells where a program is, and runs nothing.
func (e *executor) lookup(s *stage) int {
	status, printed := 1, 0
	verbose := true
	args := s.argv
	if len(args) > 0 {
		if args[0] == "command" && len(args) > 1 {
			verbose = args[1] != "-v"
		}
		args = args[1:]
	}
	for _, name := range args {
		if strings.HasPrefix(name, "-") {
			continue
		}
		path := e.whereIs(name, s.dir)
		if path == "" {
			if verbose {
				s.say(name + ": not found")
			}
			continue
		}
		status = 0
		if verbose {
			path = name + " is " + path
		}
		if printed += len(path) + 1; printed <= maxBuiltinBytes {
			s.print(1, path+"\n")
		}
	}
	return status
}

func (e *executor) whereIs(name, dir string) string {
	if !strings.ContainsRune(name, filepath.Separator) {
		path, _ := e.programs.lookup(name)
		return path
	}
	if path := absFrom(dir, name); e.programs.mayExec(name, path) == nil && executable(path) == nil {
		return name
	}
	return ""
}

// say writes what a shell would to a command's stderr.
func (s *stage) say(text string) { s.print(2, "dk: "+text+"\n") }

func (s *stage) print(fd int, text string) {
	if f := s.files[fd]; f != nil {
		_, _ = fmt.Fprint(f, text) // nobody may be reading, as in a shell
	}
}

// open applies the redirections of a command to its descriptors, in order.
func (e *executor) open(s *stage) *fault {
	for _, r := range s.exec.Redirs {
		switch {
		case r.File == "":
			if s.files[r.From] == nil {
				detail, said := fmt.Sprintf("descriptor %d is not open", r.From), fmt.Sprintf("%d: Bad file descriptor", r.From)
				return &fault{1, StartError, detail, said}
			}
			s.files[r.FD] = s.files[r.From]
		case r.File == os.DevNull:
			f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				return &fault{1, StartError, err.Error(), err.Error()}
			}
			s.own(f)
			s.files[r.FD] = f
		default:
			path := absFrom(s.dir, r.File)
			if !insideResolved(e.task.Root, path) {
				return &fault{1, StartError, r.File + " lies outside of the granted folder", r.File + ": Permission denied"}
			}
			f, err := os.OpenFile(path, os.O_RDONLY|openNoWait, 0)
			if err != nil {
				why := "No such file or directory"
				if !errors.Is(err, os.ErrNotExist) {
					why = "cannot be read"
				}
				return &fault{1, StartError, "input " + r.File + ": " + why, r.File + ": " + why}
			}
			s.own(f)
			s.files[r.FD] = f
		}
	}
	return nil
}
