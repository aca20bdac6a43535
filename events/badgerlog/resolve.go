package badgerlog

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// closeTimeout bounds how long a database whose commit failed is waited for: Badger tries to flush for ever.
const closeTimeout = 30 * time.Second

// resolve finds out what a failed commit left behind. Badger fails requests that are partly in its WAL already, and after
// a failed sync the data stay visible although they may not be on the disk; only what a fresh open finds counts.
//
// It returns nil if the whole batch is there, ErrNotWritten if none of it is, and otherwise ErrUnknownOutcome, after which
// b answers everything with that.
func (b *Backend) resolve(after uint64, entries []events.Entry, cause error) error {
	b.use.Lock()
	defer b.use.Unlock()
	db := b.db
	b.db = nil
	if err := closeWithin(db, closeTimeout); err != nil {
		return b.breakDown(errors.Join(cause, err))
	}
	if err := b.start(); err != nil {
		return b.breakDown(errors.Join(cause, err))
	}
	kept, err := matching(b.db, after, entries)
	switch {
	case err == nil && b.end == after+uint64(len(entries)) && kept == len(entries):
		return nil
	case err == nil && b.end == after && errors.Is(cause, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", events.ErrNoSpace, cause)
	case err == nil && b.end == after:
		return fmt.Errorf("%w: %w", events.ErrNotWritten, cause)
	}
	err = errors.Join(fmt.Errorf("%w: %d of the batch's %d entries were kept, the log ends at %d", events.ErrCorrupt, kept, len(entries), b.end),
		err, b.db.Close())
	b.db = nil
	return b.breakDown(errors.Join(cause, err))
}

// breakDown makes err the answer to whatever is asked of b from now on.
func (b *Backend) breakDown(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = fmt.Errorf("%w: %w", events.ErrUnknownOutcome, err)
	close(b.moved)
	b.moved = make(chan struct{})
	return b.broken
}

// matching counts the entries that are kept at their place with the same bytes.
func matching(db *badger.DB, after uint64, entries []events.Entry) (int, error) {
	kept := 0
	for i, want := range entries {
		e, err := entryAt(db, after+uint64(i)+1)
		if errors.Is(err, events.ErrGap) {
			continue
		}
		if err != nil {
			return kept, err
		}
		if bytes.Equal(e.Data, want.Data) {
			kept++
		}
	}
	return kept, nil
}

// closeWithin closes db. One that does not come to an end is left behind: its files stay locked until the process ends.
func closeWithin(db *badger.DB, limit time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- db.Close() }()
	select {
	case <-done: // what it says is no news: the commit failed
		return nil
	case <-time.After(limit):
		return fmt.Errorf("badger did not close within %v", limit)
	}
}
