package projections

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/projections/internal/runner"
	"github.com/dalkkak/dkgraph/rules"
)

const problemNotGranted = runner.CWDNotGranted

// A place is where a check happens, or why it cannot.
type place struct {
	cwd, root       string // symlinks followed
	named           string // cwd as it was claimed
	problem, detail string
}

// where resolves the folder of a claim. The one the transcript's record states is evidence; the one in the marker is the
// agent's word and only counts inside a granted root, as every folder does. An unknown folder is never guessed.
func (p *Projector) where(c *verifying) place {
	cwd := c.folder()
	if cwd == "" {
		return place{cwd: c.claim.CWD, problem: runner.CWDUnknown, detail: "the transcript does not say in which folder this was claimed"}
	}
	pl := place{named: cwd}
	pl.cwd, pl.root, pl.problem, pl.detail = runner.CheckCWD(cwd, p.roots)
	if pl.problem != "" {
		pl.cwd = cwd
	}
	return pl
}

// timeouts by kind of claim; others get the last.
var timeouts = map[string]time.Duration{
	"test": 10 * time.Minute, "build": 10 * time.Minute, "lint": 2 * time.Minute, "typecheck": 5 * time.Minute,
}

func (p *Projector) timeout(kind string) time.Duration {
	if p.opts.Timeout > 0 {
		return p.opts.Timeout
	}
	if d, ok := timeouts[kind]; ok {
		return d
	}
	return 5 * time.Minute
}

// check makes the evidence for a claim that the gate let through.
func (p *Projector) check(ctx context.Context, c *verifying) (events.Run, error) {
	expect := c.facts.Claim.Expect
	run := events.Run{Check: c.facts.Claim.Check, Command: c.claim.Verify, Started: time.Now().UTC(), Sandbox: events.Sandbox{Backend: "none"}}
	if !expect.Understood {
		run.Problem, run.Detail = "expect_not_understood", "the expectation is not understood: "+expect.Problem
		return run, nil
	}
	pl := p.where(c)
	run.CWD, run.Root = pl.cwd, pl.root
	if pl.problem != "" {
		run.Problem, run.Detail = pl.problem, pl.detail
		return run, nil
	}
	if c.facts.Claim.Check == rules.CheckCommand {
		if file := p.moved(c); file != "" {
			run.Problem, run.Detail = problemMoved, file+" changed since the command was judged by it"
			return run, nil
		}
		var err error
		if run, err = p.runCommand(ctx, c, pl); err != nil || run.Problem != "" {
			return run, err
		}
	}
	if expect.File != nil {
		ctx, cancel := context.WithTimeout(ctx, p.timeout(c.claim.Kind))
		file, hits := lookAt(ctx, pl, *expect.File)
		cancel()
		run.Files = append(run.Files, file)
		run.Expects = append(run.Expects, hits...)
	}
	if c.facts.Claim.Check == rules.CheckFile {
		run.DurationMS = time.Since(run.Started).Milliseconds()
	}
	return run, nil
}

func (p *Projector) runCommand(ctx context.Context, c *verifying, pl place) (events.Run, error) {
	job := runner.Job{
		Plan: c.facts.Command.Plan, Command: c.claim.Verify, CWD: pl.cwd, Root: pl.root,
		Timeout: p.timeout(c.claim.Kind),
	}
	for _, o := range c.facts.Claim.Expect.Output {
		job.Expects = append(job.Expects, runner.Expect{What: o.What, Want: o.Want})
	}
	return runner.Run(ctx, job, runner.Options{Environ: p.opts.Environ, Hashes: &p.hashes})
}

// lookAt checks a claim about a file on the file system itself.
func lookAt(ctx context.Context, pl place, want rules.FileExpect) (events.File, []events.ExpectHit) {
	f := runner.Look(pl.root, pl.cwd, []string{pl.rebase(want.Path)})[0]
	f.Path = want.Path
	if f.Error != "" {
		return f, nil
	}
	l := look{want: want}
	if want.Exists != nil && !*want.Exists {
		l.hit("file_exists", "false", !f.Exists, "it exists")
		return f, l.hits
	}
	l.hit("file_exists", "true", f.Exists, "it does not exist")
	if !f.Exists {
		return f, l.hits
	}
	if err := l.facts(f); err != nil {
		f.Error = err.Error()
	} else if err := l.content(ctx, pl); err != nil {
		f.Error = err.Error()
	}
	return f, l.hits
}

// A look is the comparison of one file with what is claimed of it.
type look struct {
	want rules.FileExpect
	hits []events.ExpectHit
}

func (l *look) hit(what, wanted string, met bool, got string) {
	if met {
		got = ""
	}
	l.hits = append(l.hits, events.ExpectHit{What: what, Want: wanted, Met: met, Got: got})
}

// facts compares what is known of a file without its content. A symlink is what it leads to, as it is to every program.
func (l *look) facts(f events.File) error {
	typ := f.Type
	if f.Leads != "" {
		typ = f.Leads
	}
	if l.want.Type != "" {
		l.hit("file_type", l.want.Type, typ == l.want.Type, "it is a "+typ)
	}
	if l.want.MinBytes != nil {
		l.hit("file_min_bytes", strconv.FormatInt(*l.want.MinBytes, 10), f.Size >= *l.want.MinBytes, fmt.Sprintf("it has %d bytes", f.Size))
	}
	if l.want.SHA256 != "" {
		if f.SHA256 == "" {
			return errors.New("it is too large, or no file, to take its SHA-256")
		}
		l.hit("file_sha256", l.want.SHA256, f.SHA256 == l.want.SHA256, "its SHA-256 is "+f.SHA256)
	}
	return nil
}

// Bounds on the files that are searched. A pattern is matched line by line, so that it can be stopped.
const (
	maxContains = 64 << 20
	maxMatches  = 8 << 20
)

func (l *look) content(ctx context.Context, pl place) error {
	if l.want.Contains != "" {
		content, err := runner.Read(pl.root, pl.cwd, pl.rebase(l.want.Path), maxContains)
		if err != nil {
			return err
		}
		l.hit("file_contains", l.want.Contains, bytes.Contains(content, []byte(l.want.Contains)), "the text is not in it")
	}
	if l.want.Matches == "" {
		return nil
	}
	content, err := runner.Read(pl.root, pl.cwd, pl.rebase(l.want.Path), maxMatches)
	if err != nil {
		return err
	}
	re, err := regexp.Compile(l.want.Matches)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(content) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if re.Match(bytes.TrimRight(line, "\r\n")) {
			l.hit("file_matches", l.want.Matches, true, "")
			return nil
		}
	}
	l.hit("file_matches", l.want.Matches, false, "no line of it matches")
	return nil
}

// rebase makes an absolute path under the folder as it was named a path under the folder as it is, past its symlinks.
func (pl place) rebase(path string) string {
	if filepath.IsAbs(path) && within(pl.named, path) {
		if rel, err := filepath.Rel(pl.named, path); err == nil {
			return filepath.Join(pl.cwd, rel)
		}
	}
	return path
}
