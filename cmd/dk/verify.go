package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

type verifyFlags struct {
	roots   []string
	rules   []string
	noRun   bool
	repo    bool
	timeout time.Duration
}

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := a.jsonFlag(&cobra.Command{
		Use:   "verify TRANSCRIPT…",
		Short: "Record, gate, run and judge the claims of transcripts, and print the receipts",
		Long: `verify reads transcripts, records what they say, and brings every claim in them to a receipt: the gate decides from the
command's text whether it is safe to run again; dk runs it without a shell and with a clean environment, in the folder
where it was claimed; the judge compares what it saw with the claim.

Commands run only inside the granted roots: the current folder, or those named with --root. Verifying the same transcript
again runs nothing and prints the same receipts. A transcript named - is read from stdin.

Exit status: 0 every claim was verified, or there was none; 1 a claim was not; 2 something could not be done.`,
		Example: `  dk verify session.jsonl
  dk verify --root ~/src/shop --json session.jsonl
  dk verify --no-run session.jsonl     only gate: nothing is run`,
		Args: needTranscript,
		RunE: func(c *cobra.Command, args []string) error { return a.verify(c.Context(), args, f) },
	})
	c.Flags().StringArrayVar(&f.roots, "root", nil, "folder in which commands may run (repeatable; default the current folder)")
	c.Flags().StringArrayVar(&f.rules, "rules", nil, "rule pack of your own, for this call beside those in force (repeatable)")
	c.Flags().BoolVar(&f.repo, "repo-rules", false, "also decide by the packs in .dk/rules of the granted roots; they can only tighten")
	c.Flags().BoolVar(&f.noRun, "no-run", false, "gate the claims and run nothing")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "limit of one run (default by the kind of the claim: 2m to 10m)")
	return c
}

func needTranscript(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return withHint(errors.New("no transcript named"), "Claude Code keeps its sessions in ~/.claude/projects/*/*.jsonl")
	}
	return nil
}

func (a *app) verify(ctx context.Context, files []string, f verifyFlags) error {
	packs, err := loadPacks(f.rules)
	if err != nil {
		return err
	}
	if len(f.roots) == 0 {
		f.roots = []string{"."}
	}
	repo, err := repoPacks(f)
	if err != nil {
		return err
	}
	p, err := a.open(ctx, projections.Options{Roots: f.roots, Rules: packs, Repo: repo, Timeout: f.timeout})
	if err != nil {
		return err
	}
	lines, err := a.verifyFiles(ctx, p, files, f)
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	return negativeIf(negative(lines))
}

// repoPacks reads the packs of the granted roots, if that is asked for.
func repoPacks(f verifyFlags) ([]*rules.Pack, error) {
	var out []*rules.Pack
	if !f.repo {
		return nil, nil
	}
	for _, root := range f.roots {
		packs, err := projections.RepoPacks(root)
		if err != nil {
			return nil, withHint(err, "dk rules check the packs in %s; a pack of the repository can only deny, require or fail", filepath.Join(root, ".dk", "rules"))
		}
		out = append(out, packs...)
	}
	return out, nil
}

func negativeIf(no bool) error {
	if no {
		return negativeError{}
	}
	return nil
}

// verifyFiles verifies each file; a file that cannot be read costs no other, and is the error at the end.
func (a *app) verifyFiles(ctx context.Context, p *projections.Projector, files []string, f verifyFlags) ([]receiptLine, error) {
	claims, failed := a.ingestFiles(ctx, p, files, nil)
	results, err := p.Verify(ctx, claims, projections.VerifyOptions{NoRun: f.noRun, Started: a.progress(len(claims))})
	a.endProgress()
	v := p.Graph().View()
	defer v.Close()
	var lines []receiptLine
	for _, r := range results {
		line, lerr := ofClaim(v, r.Claim)
		if lerr != nil {
			return nil, lerr
		}
		lines = append(lines, line)
	}
	return lines, errors.Join(a.printVerified(lines), failed, err)
}

func (a *app) printVerified(lines []receiptLine) error {
	if !a.json {
		a.printReceipts(lines)
		a.printCount(lines, "claim")
		return nil
	}
	for _, l := range lines {
		if l.Receipt == "" {
			continue
		}
		if err := a.out.jsonLine(l); err != nil {
			return err
		}
	}
	return nil
}

// progress says what is being run, where somebody can see it.
func (a *app) progress(total int) func(graph.Node, string) {
	if !a.err.tty {
		return nil
	}
	n := 0
	return func(claim graph.Node, command string) {
		n++
		a.err.printf("\r\x1b[K%d/%d  %s  %s", n, total, short(claim.Name, 20), short(command, 60))
	}
}

func (a *app) endProgress() {
	if a.err.tty {
		a.err.printf("\r\x1b[K")
	}
}

// ingestFiles records transcripts and returns the claims in them, each once.
func (a *app) ingestFiles(ctx context.Context, p *projections.Projector, files []string, each func(string, projections.Ingested) error) ([]events.ID, error) {
	var claims []events.ID
	var errs []error
	seen := make(map[events.ID]bool)
	for _, file := range files {
		in, err := a.ingestFile(ctx, p, file)
		a.reportIngested(file, in)
		if err == nil && each != nil {
			err = each(file, in)
		}
		if err != nil {
			errs = append(errs, err)
		}
		for _, id := range in.Claims {
			if !seen[id] {
				seen[id] = true
				claims = append(claims, id)
			}
		}
	}
	return claims, errors.Join(errs...)
}

func (a *app) ingestFile(ctx context.Context, p *projections.Projector, file string) (projections.Ingested, error) {
	if file == "-" {
		return p.Ingest(ctx, a.stdin, "-")
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return projections.Ingested{}, withHint(errors.New(file+": no such transcript"), "Claude Code keeps its sessions in ~/.claude/projects/*/*.jsonl")
	case err != nil:
		return projections.Ingested{}, err
	case info.IsDir():
		return projections.Ingested{}, withHint(errors.New(file+" is a folder"), "name the transcripts in it: %s/*.jsonl", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return projections.Ingested{}, err
	}
	in, err := p.Ingest(ctx, f, file)
	return in, errors.Join(err, f.Close())
}

// reportIngested says what could not be used; everything else was recorded.
func (a *app) reportIngested(file string, in projections.Ingested) {
	file = clean(file)
	if n := in.Stats.Damaged; n > 0 {
		a.err.printf("%s: %s could not be read; the rest was (dk log --kind transcript.damaged)\n", file, plural(int(n), "line"))
	}
	if in.Stats.Partial {
		a.err.printf("%s: the last line is unfinished (%d bytes); it is read when it ends\n", file, in.Stats.PartialBytes)
	}
	if n := in.Stats.Ignored; n > 0 {
		a.err.printf("%s: %s ignored, each for a reason (dk log --kind marker.ignored)\n", file, plural(int(n), "look-alike")+" of a marker")
	}
	if n := len(in.Elsewhere); n > 0 {
		a.err.printf("%s: %s known from another folder; the receipt is about that one (dk why shows it)\n", file, plural(n, "claim"))
	}
	for _, r := range in.Refused {
		a.err.printf("%s: not recorded: %s\n", file, clean(r))
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}
