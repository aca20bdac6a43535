// Package runner makes a check itself: it carries out the plan of a command, with no shell, and writes down everything
// a later judge may need. It judges nothing.
//
// Whatever keeps a check from running to its end (a missing program, a timeout, output without end, a folder that is
// not granted) is a named problem, never a pass and never a fail.
//
// # Nouns
//
// A [Job] is one check to make. [Run] gives the [events.Run] of it. A backend stands between a plan and the machine;
// the one there is, none, runs ordinary processes and says so in the record. A task and a report are what goes in and
// out of a backend; both are plain data.
//
//	run, err := runner.Run(ctx, runner.Job{Plan: plan, CWD: dir, Root: root}, runner.Options{})
//
// # What runs
//
// Argument vectors, exactly as analysed, joined as the plan says, with the meaning that bash gives to it. Programs come
// from a pinned PATH. The environment is built from an allow-list, see env.go. stdin is /dev/null; there is no terminal;
// each command leads a session of its own, and what is left of its process group is killed when it ends.
//
// One thing is done otherwise than a shell would: where a command that checks writes into a pipe, as in
// `go test | head -1`, its output is read to the end although head has gone. A shell would kill it with SIGPIPE, and
// nobody would know whether the check passes.
//
// # Concurrency
//
// All functions are safe for concurrent use. Run has no goroutine left when it returns.
package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dalkkak/dkgraph/events"
)

// Run makes one check. The caller fills in which claim and gate it belongs to. The error is for a job that should not
// have been made, and for ctx; everything else that can go wrong is a problem in the record.
func Run(ctx context.Context, job Job, opts Options) (events.Run, error) {
	opts = opts.withDefaults()
	if job.Timeout == 0 {
		job.Timeout = DefaultTimeout
	}
	rec := job.record()
	if err := job.check(); err != nil {
		return rec, err
	}
	if err := ctx.Err(); err != nil {
		return rec, err
	}
	rec.Started = time.Now().UTC()
	cwd, root, code, detail := CheckCWD(job.CWD, []string{job.Root})
	if code != "" {
		rec.CWD, rec.Problem, rec.Detail = job.CWD, code, detail
		return rec, nil
	}
	rec.CWD, rec.Root = cwd, root
	if job.Plan != nil {
		if err := runPlan(ctx, job, opts, &rec); err != nil {
			return rec, err
		}
	}
	if len(job.Paths) > 0 {
		rec.Files = Look(root, cwd, job.Paths)
	}
	rec.DurationMS = time.Since(rec.Started).Milliseconds()
	return rec, nil
}

// runPlan runs the plan of a job and adds what came of it to the record. The error is that of ctx.
func runPlan(ctx context.Context, job Job, opts Options, rec *events.Run) error {
	if !supported {
		rec.Problem, rec.Detail = UnsupportedPlatform, "commands cannot be run on this platform"
		return nil
	}
	if p := checkExpects(job.Expects); p != nil {
		rec.Problem, rec.Detail = p.code, p.detail
		return nil
	}
	private, err := newPrivate(opts.TempDir)
	if err != nil {
		rec.Problem, rec.Detail = StartError, "no private folder: "+err.Error()
		return nil
	}
	defer removePrivate(private)

	env := newEnvironment(opts, rec.Root, private)
	rec.EnvNames, rec.EnvSHA = env.record()
	var back backend = none{}
	rec.Sandbox = back.sandbox()
	t := task{
		Plan: job.Plan, CWD: rec.CWD, Root: rec.Root,
		Env: env.vars, Path: env.path, Dropped: env.dropped, Tools: env.tools, Hashes: opts.Hashes,
		Timing: timing{Grace: opts.Grace, WaitDelay: opts.WaitDelay},
	}
	ev, err := observe(ctx, back, t, job, opts)
	if err != nil {
		rec.Problem, rec.Detail = StartError, err.Error()
		return nil
	}
	ev.fill(rec, job, newRedactor(env.secrets))
	return ctx.Err()
}

// evidence is what one run of a plan left behind.
type evidence struct {
	report  report
	capture *capture
	escaped bool // output stayed open after the last process that could be ended
}

// observe runs a task under a backend with its outputs captured and its limits watched. The error says that it could
// not begin; how it ended is in the evidence.
func observe(ctx context.Context, back backend, t task, job Job, opts Options) (*evidence, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, job.Timeout, errTimeout)
	defer stop()

	c := &capture{limit: opts.MaxOutputBytes, over: func() { cancel(errOutputLimit) }, report: newAnalysis(t.Plan)}
	out, err := c.open(job.Expects, filtersChecks(t.Plan))
	if err != nil {
		return nil, err
	}
	ev := &evidence{capture: c}
	ev.report, err = back.run(ctx, t, out)
	out.close() // the readers end when nobody holds the other ends
	ev.escaped = !c.finish(opts.WaitDelay)
	switch {
	case errors.Is(err, errTimeout):
		ev.report.Problem, ev.report.Detail = Timeout, fmt.Sprintf("stopped after %s", job.Timeout)
	case c.total.Load() > c.limit:
		ev.report.Problem, ev.report.Detail = OutputLimit, fmt.Sprintf("stopped after %d bytes of output", c.limit)
	case err != nil && ev.report.Problem == "":
		ev.report.Problem, ev.report.Detail = StartError, err.Error()
	}
	return ev, nil
}

// fill adds the evidence to the record of a run.
func (ev *evidence) fill(rec *events.Run, job Job, r *redactor) {
	rep := ev.report
	rec.Problem, rec.Detail = rep.Problem, clip(r.text(plain(rep.Detail)), 2<<10)
	rec.Stages = rep.Stages
	rec.UserMS, rec.SystemMS, rec.MaxRSSKB = rep.UserMS, rep.SystemMS, rep.MaxRSSKB
	rec.Exit = rep.Status
	rec.CheckExit = checkStatus(job.Plan, rep.Results)
	rec.Masked = rec.CheckExit != rec.Exit
	if rec.Problem != "" {
		// It did not run to its end, so a 0 would be that of some part of it.
		rec.Exit, rec.CheckExit = notZero(rec.Exit), notZero(rec.CheckExit)
	}
	stdout, stderr := ev.capture.streams[0], ev.capture.streams[1]
	rec.Stdout, rec.Stderr = stdout.record(r), stderr.record(r)
	rec.Expects = judge(job.Expects, [][]*finder{stdout.finders, stderr.finders}, r)
	rec.Tests = ev.capture.report.tests()
	if rec.Problem != "" || rec.Exit != 0 || rec.CheckExit != 0 || rec.Tests != nil && rec.Tests.Failed > 0 {
		rec.Highlights = ev.capture.report.highlights(r)
	}
	rec.Sandbox.Degraded = append(rec.Sandbox.Degraded, rep.Degraded...)
	if ev.escaped {
		rec.Sandbox.Degraded = append(rec.Sandbox.Degraded, "processes: one that was left behind held the output open")
	}
}

// notZero is status, or -1 in place of 0: no status.
func notZero(status int) int {
	if status == 0 {
		return -1
	}
	return status
}
