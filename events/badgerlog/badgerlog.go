package badgerlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

const (
	prefixEntry  = 'e'
	prefixOrigin = 'o'
)

// A Backend is an events.Backend on Badger.
type Backend struct {
	dir  string
	opts Options
	tune tuning

	appending sync.Mutex // held by the one append under way, and by Close; guards below
	head      *headFile
	synced    dirState
	known     map[string]fileSum // tables that were checked

	use   sync.RWMutex // read-held while Badger is used, never while a caller runs; guards below
	db    *badger.DB   // nil after it was closed or could not be opened again
	watch *watcher

	mu     sync.Mutex // guards below
	end    uint64
	moved  chan struct{} // closed and replaced when the end moves
	closed bool
	broken error // why the database is not open any more
}

var _ events.Backend = (*Backend)(nil)

func entryKey(pos uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixEntry}, pos)
}

func entryPos(key []byte) (uint64, error) {
	if len(key) != 9 {
		return 0, fmt.Errorf("%w: a key of %d bytes", events.ErrCorrupt, len(key))
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

func originKey(key events.Hash) []byte { return append([]byte{prefixOrigin}, key[:]...) }

// Append implements events.Backend: one batch is one transaction.
func (b *Backend) Append(ctx context.Context, after uint64, entries []events.Entry) error {
	b.appending.Lock()
	defer b.appending.Unlock()
	end, err := b.End(ctx)
	switch {
	case err != nil:
		return err
	case after != end:
		return fmt.Errorf("%w: it is at %d", events.ErrConflict, end)
	case len(entries) == 0:
		return nil
	}
	if err := b.ready(entries); err != nil {
		return err
	}
	if err := b.commit(after, entries); errors.Is(err, errUnclear) {
		if err := b.resolve(after, entries, err); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	b.advance(after+uint64(len(entries)), entries[len(entries)-1].Data)
	return nil
}

// ready refuses what must not reach Badger. Nothing is written when it fails.
func (b *Backend) ready(entries []events.Entry) error {
	b.use.RLock()
	defer b.use.RUnlock()
	if err := b.watch.fault(); err != nil {
		return fmt.Errorf("%w: it needs to be opened again: %w", events.ErrNotWritten, err)
	}
	size := uint64(0)
	for _, e := range entries {
		size += uint64(len(e.Data))
	}
	free, err := b.tune.free(b.dir)
	if err != nil {
		return fmt.Errorf("%w: free space: %w", events.ErrNotWritten, err)
	}
	if need := b.tune.reserve() + size; free < need {
		return fmt.Errorf("%w: %d MB free, %d MB are kept in reserve", events.ErrNoSpace, free>>20, need>>20)
	}
	return nil
}

// errUnclear: the commit failed, and what it left behind is not known.
var errUnclear = errors.New("commit failed")

func (b *Backend) commit(after uint64, entries []events.Entry) error {
	b.use.RLock()
	defer b.use.RUnlock()
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	for i, e := range entries {
		if err := b.put(txn, after+uint64(i)+1, e); err != nil {
			return err
		}
	}
	err := b.tune.commit(txn)
	if errors.Is(err, badger.ErrTxnTooBig) {
		return fmt.Errorf("%w: the batch is over what one transaction holds", events.ErrTooLarge)
	}
	if err == nil {
		err = b.syncNames()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnclear, err)
	}
	return nil
}

// put adds an entry to a transaction, in memory.
func (b *Backend) put(txn *badger.Txn, pos uint64, e events.Entry) error {
	if int64(len(e.Data)) >= b.tune.valueThreshold {
		return fmt.Errorf("%w: %d bytes", events.ErrTooLarge, len(e.Data))
	}
	err := txn.Set(entryKey(pos), e.Data)
	if err == nil {
		err = txn.Set(originKey(e.Key), binary.BigEndian.AppendUint64(nil, pos))
	}
	if errors.Is(err, badger.ErrTxnTooBig) {
		return fmt.Errorf("%w: the batch is over what one transaction holds", events.ErrTooLarge)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrNotWritten, err)
	}
	return nil
}

// advance makes what is durable visible. A head that cannot be written leaves the old one, which is still true, but the
// next append has to know.
func (b *Backend) advance(end uint64, data []byte) {
	if err := b.head.write(headOf(end, data)); err != nil {
		b.watch.note("%v", []any{err})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = end
	close(b.moved)
	b.moved = make(chan struct{})
}

// Find implements events.Backend.
func (b *Backend) Find(ctx context.Context, key events.Hash) (uint64, error) {
	var pos uint64
	err := b.view(ctx, func(txn *badger.Txn) error {
		item, err := txn.Get(originKey(key))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error {
			if len(v) != 8 {
				return fmt.Errorf("%w: origin index", events.ErrCorrupt)
			}
			pos = binary.BigEndian.Uint64(v)
			return nil
		})
	})
	return pos, err
}

// view runs f on the database. f must not call what may wait for an append.
func (b *Backend) view(ctx context.Context, f func(*badger.Txn) error) error {
	b.use.RLock()
	defer b.use.RUnlock()
	if _, err := b.End(ctx); err != nil {
		return err
	}
	return b.db.View(f)
}

// End implements events.Backend.
func (b *Backend) End(ctx context.Context) (uint64, error) {
	end, _, err := b.state()
	if err == nil {
		err = ctx.Err()
	}
	return end, err
}

func (b *Backend) state() (end uint64, moved <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, nil, events.ErrClosed
	case b.broken != nil:
		return 0, nil, b.broken
	}
	return b.end, b.moved, nil
}

// Wait implements events.Backend.
func (b *Backend) Wait(ctx context.Context, after uint64) (uint64, error) {
	for {
		end, moved, err := b.state()
		if err != nil || end > after {
			return end, err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
