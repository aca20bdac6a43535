package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/badgerlog"
	"github.com/dalkkak/dkgraph/projections/internal/issuer"
)

// A ProofFile shows, without a store at hand, that one event is in the log that a key signs: the event's line, its place
// in a tree, and the signed checkpoint of that tree.
type ProofFile struct {
	Event      string       `json:"event"` // the line as it is stored
	Proof      events.Proof `json:"proof"`
	Checkpoint string       `json:"checkpoint"`
	Key        string       `json:"key"`   // for convenience; whoever checks brings a key of their own
	Trust      string       `json:"trust"` // of the store that made it
}

// Prove makes the proof of one event.
func (p *Projector) Prove(ctx context.Context, seq uint64) (ProofFile, error) {
	rec, err := p.log.Get(ctx, seq)
	if err != nil {
		return ProofFile{}, err
	}
	proof, err := p.log.Prove(ctx, seq)
	if err != nil {
		return ProofFile{}, err
	}
	seal, err := p.seal()
	if err != nil {
		return ProofFile{}, err
	}
	signed, err := seal.Checkpoint(proof.Tree)
	if err != nil {
		return ProofFile{}, err
	}
	return ProofFile{Event: string(rec.Line()), Proof: proof, Checkpoint: string(signed), Key: p.heads.vkey, Trust: TrustSameAccount}, nil
}

// Check reports whether the file proves, to whoever trusts vkey, that its event is in the log of that key.
func (f ProofFile) Check(vkey string) error {
	_, tree, err := events.OpenCheckpoint(vkey, []byte(f.Checkpoint))
	if err != nil {
		return err
	}
	if tree != f.Proof.Tree {
		return fmt.Errorf("%w: the checkpoint is of another tree", events.ErrProof)
	}
	var e struct {
		Seq uint64 `json:"seq"`
	}
	if err := json.Unmarshal([]byte(f.Event), &e); err != nil || e.Seq != f.Proof.Seq {
		return fmt.Errorf("%w: it is about event %d, its line says %d", events.ErrProof, f.Proof.Seq, e.Seq)
	}
	if strings.ContainsAny(f.Event, "\n\r") {
		return fmt.Errorf("%w: its event is no single line", events.ErrProof)
	}
	return f.Proof.Check([]byte(f.Event))
}

// Export writes the events from..to (0 is the end) and a line that ties them to a signed checkpoint.
func (p *Projector) Export(ctx context.Context, w io.Writer, from, to uint64) error {
	seal, err := p.seal()
	if err != nil {
		return err
	}
	return p.log.Export(ctx, w, from, to, seal.Checkpoint)
}

// AcceptLoss makes a store usable whose log ends before events that it is known to have had: the operator's word that what
// is missing may stay missing. It returns the last event there is.
func AcceptLoss(ctx context.Context, dir string) (uint64, error) {
	if !IsStore(dir) {
		return 0, fmt.Errorf("%w: %s", ErrNotStore, dir)
	}
	b, err := badgerlog.OpenWith(filepath.Join(dir, "log"), badgerlog.Options{AcceptEnd: true})
	if err != nil {
		return 0, err
	}
	log, err := events.Open(ctx, b, events.Options{})
	if err != nil {
		return 0, errors.Join(err, b.Close())
	}
	for _, err := range log.Read(ctx, 1) { // a hole or a changed event is more than a loss at the end
		if err != nil {
			return 0, errors.Join(err, log.Close())
		}
	}
	end := log.Head().Seq
	if err := log.Close(); err != nil {
		return 0, err
	}
	for _, name := range []string{checkpointFile, previousFile} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".lost")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return end, os.RemoveAll(filepath.Join(dir, "graph"))
}

// Restore makes a store in dir out of a whole export. dir must not hold one. A store is there only when all of the export
// was checked; on an error nothing is left behind. Without the key of the log it was made from, the store can be read,
// judged again and added to, and issues no verdicts.
func Restore(ctx context.Context, dir string, r io.Reader, key []byte) (events.Tree, error) {
	if err := checkFolder(dir); err != nil {
		return events.Tree{}, err
	}
	log := filepath.Join(dir, "log")
	if _, err := os.Stat(log); err == nil {
		return events.Tree{}, fmt.Errorf("restore: %w in %s", events.ErrExists, dir)
	}
	part, err := os.MkdirTemp(dir, "restore-")
	if err != nil {
		return events.Tree{}, err
	}
	defer os.RemoveAll(part)
	b, err := badgerlog.Open(filepath.Join(part, "log"))
	if err != nil {
		return events.Tree{}, err
	}
	tree, err := events.Import(ctx, b, r)
	if err := errors.Join(err, b.Close()); err != nil {
		return tree, err
	}
	if key != nil {
		if err := issuer.Put(dir, key); err != nil {
			return tree, err
		}
	}
	return tree, badgerlog.Rename(filepath.Join(part, "log"), log)
}
