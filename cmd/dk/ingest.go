package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/projections"
)

func (a *app) ingestCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "ingest TRANSCRIPT…",
		Short: "Record what transcripts say, and run nothing",
		Long: `ingest records the claims, memory nodes and summaries of transcripts. Nothing is gated, run or judged; dk verify on the
same transcript does that later. Reading a transcript again adds only what is new. A transcript named - is read from stdin.`,
		Example: "  dk ingest ~/.claude/projects/*/*.jsonl",
		Args:    needTranscript,
		RunE:    func(c *cobra.Command, args []string) error { return a.ingest(c.Context(), args) },
	})
}

// ingestLine is the form of an ingested transcript on stdout with --json.
type ingestLine struct {
	Source  string `json:"source"`
	Bytes   int64  `json:"bytes"`
	Lines   int64  `json:"lines"`
	Markers int64  `json:"markers"`
	Ignored int64  `json:"ignored"`
	Damaged int64  `json:"damaged"`
	Claims  int    `json:"claims"`
	Added   int    `json:"added"`
	Partial bool   `json:"partial,omitempty"`
}

func (a *app) ingest(ctx context.Context, files []string) error {
	p, err := a.open(ctx, projections.Options{Roots: []string{"."}})
	if err != nil {
		return err
	}
	_, err = a.ingestFiles(ctx, p, files, func(file string, in projections.Ingested) error {
		s := in.Stats
		if a.json {
			return a.out.jsonLine(ingestLine{
				Source: file, Bytes: s.Bytes, Lines: s.Lines, Markers: s.Markers, Ignored: s.Ignored, Damaged: s.Damaged,
				Claims: len(in.Claims), Added: in.Events, Partial: s.Partial,
			})
		}
		a.out.printf("%s: %s, %s, %s new\n", clean(file), plural(int(s.Lines), "line"), plural(int(s.Markers), "marker"), plural(in.Events, "event"))
		return nil
	})
	return errors.Join(err, p.Close())
}
