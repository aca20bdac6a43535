package projections

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/transcript"
)

// batchSize is how many drafts are made durable at once: one fsync costs as much as hundreds of events.
const batchSize = 256

// An Ingested says what a transcript added.
type Ingested struct {
	Stats  transcript.Stats
	Events int         // added to the log
	Claims []events.ID // every claim in the transcript, known before or not, in its order
	// Elsewhere are claims that are known from another folder: one message read from two places is one claim, and its
	// receipt is about the folder where it was seen first.
	Elsewhere []events.ID
	Refused   []string // drafts that the log would not take, and why
}

// Ingest records what the transcript r says and returns what was in it. Reading a transcript again, or a longer or forked
// copy of it, adds only what is new. source is its path, for the record; r is read to its end and taken as finished.
func (p *Projector) Ingest(ctx context.Context, r io.Reader, source string) (Ingested, error) {
	var in Ingested
	reader := transcript.NewReader(r, transcript.Source{Path: source, Final: true})
	var batch []events.Draft
	flush := func() error {
		err := p.record(ctx, batch, &in)
		batch = batch[:0]
		return err
	}
	for d, err := range reader.Drafts() {
		if err != nil {
			return in, errors.Join(err, flush())
		}
		batch = append(batch, d.InWorkspace(p.workspace(d.Seen().CWD)))
		if len(batch) == batchSize {
			if err := flush(); err != nil {
				return in, err
			}
		}
	}
	err := flush()
	in.Stats = reader.Stats()
	return in, err
}

// workspace is what a working folder belongs to: the longest granted root that holds it, else the folder itself.
func (p *Projector) workspace(cwd string) string {
	best := ""
	for _, root := range p.roots {
		if within(root, cwd) && len(root) > len(best) {
			best = root
		}
	}
	if best == "" {
		return cwd
	}
	return best
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// record appends a batch. When the log refuses it, each draft is tried by itself, so that one bad draft costs no other.
func (p *Projector) record(ctx context.Context, batch []events.Draft, in *Ingested) error {
	if len(batch) == 0 {
		return nil
	}
	recs, added, err := p.append(ctx, batch...)
	if err == nil {
		return p.note(batch, recs, added, in)
	}
	if !refusal(err) {
		return err
	}
	for _, d := range batch {
		recs, added, err := p.append(ctx, d)
		switch {
		case err == nil:
			if err := p.note([]events.Draft{d}, recs, added, in); err != nil {
				return err
			}
		case refusal(err):
			in.Refused = append(in.Refused, err.Error())
		default:
			return err
		}
	}
	return nil
}

// refusal reports whether the log said no to a draft, rather than failed.
func refusal(err error) bool {
	return errors.Is(err, events.ErrOriginReuse) || errors.Is(err, events.ErrTooLarge)
}

func (p *Projector) note(drafts []events.Draft, recs []events.Record, added int, in *Ingested) error {
	in.Events += added
	v := p.graph.View()
	defer v.Close()
	for i, rec := range recs {
		if rec.Kind() != events.KindClaimMade {
			continue
		}
		n, err := v.Made(rec.Seq())
		if err != nil {
			return err
		}
		in.Claims = append(in.Claims, n.ID)
		if rec.Seen().CWD != drafts[i].Seen().CWD {
			in.Elsewhere = append(in.Elsewhere, n.ID)
		}
	}
	return nil
}
