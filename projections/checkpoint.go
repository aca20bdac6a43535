package projections

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dalkkak/dkgraph/events"
)

// ErrCheckpoint: the store's own checkpoint cannot be read, so that nobody can say whether the log is still what it was.
var ErrCheckpoint = events.ErrCheckpoint

// A checkpoints keeps the newest signed head of a log, and the one before it, beside the log and outside of its database.
// It is written after each commit and not synced: after a power loss an older one is still a head that the log extends.
type checkpoints struct {
	dir   string
	vkey  string
	sign  func(events.Tree) ([]byte, error) // nil without a key
	wrote error                             // of the last write; owned by the log's writer until it has ended
}

const (
	checkpointFile = "checkpoint"
	previousFile   = "checkpoint.1"
)

func (c *checkpoints) path(name string) string { return filepath.Join(c.dir, name) }

// committed signs the head after a commit. A failure leaves an older checkpoint, which holds, too.
func (c *checkpoints) committed(t events.Tree) {
	if c.sign == nil {
		return
	}
	c.wrote = c.write(t)
}

func (c *checkpoints) write(t events.Tree) error {
	signed, err := c.sign(t)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	next := c.path("checkpoint.new")
	if err := os.WriteFile(next, signed, 0o600); err != nil {
		return err
	}
	if err := os.Rename(c.path(checkpointFile), c.path(previousFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(next, c.path(checkpointFile))
}

// last returns the newest checkpoint that can be read; the zero tree if there never was one.
func (c *checkpoints) last() (events.Tree, error) {
	var unreadable error
	found := false
	for _, name := range []string{checkpointFile, previousFile} {
		signed, err := os.ReadFile(c.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return events.Tree{}, err
		}
		found = true
		_, t, err := events.OpenCheckpoint(c.vkey, signed)
		if err == nil {
			return t, nil
		}
		unreadable = fmt.Errorf("%s: %w", c.path(name), err)
	}
	if found {
		return events.Tree{}, unreadable
	}
	return events.Tree{}, nil
}

// extends makes sure that the log extends the last head that was signed: only then may the next one be signed.
func (p *Projector) extends(ctx context.Context) error {
	t, err := p.heads.last()
	if err != nil || t.Size == 0 {
		return err
	}
	return p.log.Extends(ctx, t)
}

// Checkpoint signs the head of the log and returns it in the c2sp checkpoint format. Whoever keeps it elsewhere can tell
// later whether the log was cut back or rewritten.
func (p *Projector) Checkpoint() ([]byte, error) {
	p.judging.Lock()
	defer p.judging.Unlock()
	seal, err := p.seal()
	if err != nil {
		return nil, err
	}
	return seal.Checkpoint(p.log.Tree())
}

// Against checks that the log extends a checkpoint that was kept elsewhere.
func (p *Projector) Against(ctx context.Context, signed []byte) (events.Tree, error) {
	_, t, err := events.OpenCheckpoint(p.heads.vkey, signed)
	if err != nil {
		return t, err
	}
	return t, p.log.Extends(ctx, t)
}
