package projections

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/projections/internal/runner"
	"github.com/dalkkak/dkgraph/rules"
)

const problemNotGranted = runner.CWDNotGranted

// maxFileBytes bounds how much of a file is searched for a claimed content.
const maxFileBytes = 64 << 20

// A place is where a check happens, or why it cannot.
type place struct {
	cwd, root       string
	problem, detail string
}

// where resolves the folder of a claim. The one the transcript's record states is evidence; the one in the marker is the
// agent's word and only counts inside a granted root, as every folder does. An unknown folder is never guessed.
func (p *Projector) where(c *verifying) place {
	cwd := c.claim.CWD
	if seen := c.node.Seen; seen != nil && seen.CWD != "" {
		switch {
		case cwd == "":
			cwd = seen.CWD
		case !filepath.IsAbs(cwd):
			cwd = filepath.Join(seen.CWD, cwd)
		}
	}
	if !filepath.IsAbs(cwd) {
		return place{cwd: cwd, problem: runner.CWDUnknown, detail: "the transcript does not say in which folder this was claimed"}
	}
	var pl place
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
		var err error
		if run, err = p.runCommand(ctx, c, pl); err != nil || run.Problem != "" {
			return run, err
		}
	}
	if expect.File != nil {
		file, hits := lookAt(pl, *expect.File)
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
func lookAt(pl place, want rules.FileExpect) (events.File, []events.ExpectHit) {
	f := runner.Look(pl.root, pl.cwd, []string{want.Path})[0]
	if f.Error != "" {
		return f, nil
	}
	var hits []events.ExpectHit
	hit := func(what, wanted string, met bool, got string) {
		if met {
			got = ""
		}
		hits = append(hits, events.ExpectHit{What: what, Want: wanted, Met: met, Got: got})
	}
	exists := want.Exists == nil || *want.Exists
	if !exists {
		hit("file_exists", "false", !f.Exists, "it exists")
		return f, hits
	}
	hit("file_exists", "true", f.Exists, "it does not exist")
	if !f.Exists {
		return f, hits
	}
	if want.Type != "" {
		hit("file_type", want.Type, f.Type == want.Type, "it is a "+f.Type)
	}
	if want.MinBytes != nil {
		hit("file_min_bytes", strconv.FormatInt(*want.MinBytes, 10), f.Size >= *want.MinBytes, fmt.Sprintf("it has %d bytes", f.Size))
	}
	if want.SHA256 != "" {
		hit("file_sha256", want.SHA256, f.SHA256 == want.SHA256, "its SHA-256 is "+f.SHA256)
	}
	if want.Contains != "" || want.Matches != "" {
		if err := lookInside(pl, want, hit); err != nil {
			f.Error = err.Error()
		}
	}
	return f, hits
}

// lookInside searches a file, which must lie within the granted root even after symlinks.
func lookInside(pl place, want rules.FileExpect, hit func(what, wanted string, met bool, got string)) error {
	content, err := readWithin(pl, want.Path)
	if err != nil {
		return err
	}
	if want.Contains != "" {
		hit("file_contains", want.Contains, bytes.Contains(content, []byte(want.Contains)), "the text is not in it")
	}
	if want.Matches != "" {
		re, err := regexp.Compile("(?m)" + want.Matches)
		if err != nil {
			return err
		}
		hit("file_matches", want.Matches, re.Match(content), "nothing in it matches")
	}
	return nil
}

func readWithin(pl place, path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(pl.cwd, path)
	}
	rel, err := filepath.Rel(pl.root, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(pl.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = fmt.Errorf("it is over %d bytes", maxFileBytes)
	}
	return content, err
}
