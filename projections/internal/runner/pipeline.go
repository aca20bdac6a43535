package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// A stage is one command of a pipeline on its way.
type stage struct {
	exec    *shell.Exec
	ordinal int
	argv    []string
	env     []string
	dir     string
	program program
	fault   *fault // why it is not started

	files [maxFD + 1]*os.File // descriptors it gets
	owned []*os.File          // closed by close, once the command has its copies
	tap   *tap                // on its stdout; nil for most

	process *os.Process
	started time.Time
	took    time.Duration
	status  int
	signal  string
	usage   usage
	err     error // of waiting for it
}

func (s *stage) own(f *os.File) { s.owned = append(s.owned, f) }

func (s *stage) close() {
	for _, f := range s.owned {
		_ = f.Close()
	}
	s.owned = nil
}

// A pipeline is commands that run at the same time, joined by pipes; a single command is one, too.
type pipeline struct {
	stages  []*stage
	running sync.WaitGroup // a goroutine for each process
	copying sync.WaitGroup // and for each tap
}

func (p *pipeline) close() {
	for _, s := range p.stages {
		s.close()
	}
}

// pipeline runs commands joined by pipes. Its status is that of the last one.
func (e *executor) pipeline(ctx context.Context, xs []*shell.Exec, st *state) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := new(pipeline)
	defer p.close()
	for _, x := range xs {
		s, err := e.prepare(x, st)
		if err != nil {
			return err
		}
		p.stages = append(p.stages, s)
	}
	if err := e.connect(p); err != nil {
		p.abandon()
		return err
	}
	if err := e.start(p, st); err != nil {
		return err
	}
	return e.settle(p, st)
}

// prepare finds out what an exec will be, and starts nothing.
func (e *executor) prepare(x *shell.Exec, st *state) (*stage, error) {
	s := &stage{exec: x, ordinal: e.ordinal[x], dir: st.dir}
	var err error
	if s.argv, err = e.expand(x.Argv, st); err != nil {
		return nil, err
	}
	if x.Builtin != "" {
		return s, nil
	}
	if slices.ContainsFunc(x.Argv[0], func(p shell.Part) bool { return p.Kind != "lit" }) || s.argv[0] == "" {
		return nil, problemf(StartError, "the name of a program must be plain text")
	}
	s.env = append(e.task.Env[:len(e.task.Env):len(e.task.Env)], "PWD="+st.dir)
	for _, a := range x.Env {
		value, err := e.value(a.Value, st)
		if err != nil {
			return nil, err
		}
		s.env = append(s.env, a.Name+"="+value)
	}
	s.program, s.fault, err = e.programs.find(s.argv[0], st.dir)
	return s, err
}

// connect makes the descriptors of all stages.
func (e *executor) connect(p *pipeline) error {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	p.stages[0].own(stdin)
	for i, s := range p.stages {
		s.files[0], s.files[1], s.files[2] = stdin, e.out.stdout, e.out.stderr
		last := i == len(p.stages)-1
		var w *os.File
		if !last {
			if stdin, w, err = os.Pipe(); err != nil {
				return err
			}
			p.stages[i+1].own(stdin)
			s.files[1] = w
		}
		if e.out.checked != nil && s.exec.Checks && s.exec.Builtin == "" {
			err = e.tap(s, !last)
		} else if w != nil {
			s.own(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tap puts a tap between a command that checks and what would filter its output, and with it the evidence, away.
func (e *executor) tap(s *stage, own bool) error {
	t := &tap{to: s.files[1], own: own, see: e.out.checked, wait: e.task.Timing.WaitDelay}
	var err error
	if t.from, s.files[1], err = os.Pipe(); err != nil {
		t.closeTo()
		return err
	}
	s.own(s.files[1])
	s.tap = t
	return nil
}

// abandon closes what taps own when they are not going to run.
func (p *pipeline) abandon() {
	for _, s := range p.stages {
		if s.tap != nil {
			_ = s.tap.from.Close()
			s.tap.closeTo()
		}
	}
}

// start starts every stage before it waits for any, and returns when all have ended.
func (e *executor) start(p *pipeline, st *state) error {
	for _, s := range p.stages {
		if s.tap != nil {
			p.copying.Go(s.tap.copy)
		}
	}
	var failed error
	for _, s := range p.stages {
		failed = e.launch(s, st, len(p.stages) == 1)
		s.close()
		if failed != nil {
			e.herd.kill()
			break
		}
		if s.process != nil {
			p.running.Go(func() { e.await(s) })
		}
	}
	p.close()
	p.running.Wait()
	for _, s := range p.stages {
		if s.tap != nil && s.tap.own { // a process that escaped may hold the other end, and not read
			_ = s.tap.to.SetWriteDeadline(time.Now().Add(e.task.Timing.WaitDelay))
		}
	}
	p.copying.Wait()
	return failed
}

// launch starts one stage, or does what a shell would do in its place. An error ends the plan.
func (e *executor) launch(s *stage, st *state, alone bool) (err error) {
	s.started = time.Now()
	if f := e.open(s); f != nil && s.fault == nil {
		s.fault = f
	}
	switch {
	case s.fault != nil:
		s.status = s.fault.status
		s.say(s.fault.said)
		e.faults[s.ordinal] = s.fault
	case s.exec.Builtin != "":
		s.status, err = e.builtin(s, st, alone)
	default:
		s.process, err = e.herd.start(s)
	}
	return err
}

// await waits for one process and for the end of its group. It runs in a goroutine that start waits for.
func (e *executor) await(s *stage) {
	end, err := e.herd.wait(s.process)
	s.took = time.Since(s.started)
	if s.tap != nil {
		s.tap.end()
	}
	if err != nil {
		s.err = err
		return
	}
	s.status, s.signal, s.usage = end.status, end.signal, end.usage
}

// settle records the stages of a pipeline that has ended.
func (e *executor) settle(p *pipeline, st *state) error {
	st.pipe = nil
	for _, s := range p.stages {
		if s.err != nil {
			return s.err
		}
		e.usage.add(s.usage)
		e.results[s.ordinal] = s.status
		st.pipe = append(st.pipe, s.status)
		st.status, st.decider = s.status, s.ordinal
		e.stages = append(e.stages, events.Stage{
			Call: s.exec.Call, Argv: validArgv(s.argv), Dir: s.dir, Program: s.program.real, SHA256: s.program.sha256,
			InTree: s.program.inTree, Exit: s.status, Signal: s.signal, Millis: s.took.Milliseconds(),
			NotFound: s.fault != nil && s.fault.code == ProgramNotFound,
		})
	}
	return nil
}

func validArgv(argv []string) []string {
	valid := make([]string, len(argv))
	for i, a := range argv {
		valid[i] = strings.ToValidUTF8(a, "�")
	}
	return valid
}

// startProblem puts the reason why a process could not be started into words.
func startProblem(s *stage, err error) error {
	path := s.program.path
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if in := interpreterOf(path); in != "" {
			return problemf(StartError, "%s: its interpreter %s does not exist", filepath.Base(path), in)
		}
		return problemf(StartError, "%s: the program or the loader it needs does not exist", filepath.Base(path))
	case errors.Is(err, syscall.ENOEXEC):
		return problemf(StartError, "%s is no program and has no #! line", filepath.Base(path))
	case errors.Is(err, syscall.E2BIG):
		return problemf(StartError, "%s: arguments and environment are too long", filepath.Base(path))
	}
	return problemf(StartError, "%s: %v", filepath.Base(path), err)
}

// A usage is what processes used.
type usage struct {
	user, system time.Duration
	maxRSSKB     int64
}

func (u *usage) add(v usage) {
	u.user += v.user
	u.system += v.system
	u.maxRSSKB = max(u.maxRSSKB, v.maxRSSKB)
}

// An ending is how a process ended, in the terms of a shell.
type ending struct {
	status int
	signal string
	usage  usage
}
