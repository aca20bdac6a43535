// Package badgerlog keeps the event log in a Badger database.
//
// It fails stopped: whatever Badger cannot say for sure is an error, and after a failed commit the outcome counts as
// unknown. It opens in normal mode with synchronous writes; every value lies in the LSM tree, because Badger's value log
// logs some read and sync errors instead of returning them.
//
//	b, err := badgerlog.Open(dir)
//	log, err := events.Open(ctx, b, events.Options{})
//
// Keys are binary and of fixed width: 'e' and the position in 8 bytes, big-endian, hold an entry; 'o' and an origin key
// hold the position of the event that it names.
//
// A Backend is safe for concurrent use by one process; Badger's lock keeps others out ([ErrInUse]).
package badgerlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/dalkkak/dkgraph/events"
)

// ErrInUse: another process has the database open.
var ErrInUse = errors.New("the store is in use by another process")

const (
	prefixEntry  = 'e'
	prefixOrigin = 'o'

	// valueThreshold is Badger's maximum: a value below it never reaches the value log. events.MaxEventBytes and the
	// hash in front of a line lie under it.
	valueThreshold = 1 << 20
	memTable       = 16 << 20
	// magic keeps a binary that knows another layout from opening this one.
	magic = 0x6b1
)

// A Backend is an events.Backend on Badger.
type Backend struct {
	db *badger.DB

	mu     sync.Mutex // guards below; held while appending
	end    uint64
	moved  chan struct{} // closed and replaced when the end moves
	closed bool
}

var _ events.Backend = (*Backend)(nil)

// Open opens or creates the database in dir.
func Open(dir string) (*Backend, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, err := badger.Open(badgerOptions(dir))
	if err != nil {
		if strings.Contains(err.Error(), "Cannot acquire directory lock") {
			return nil, fmt.Errorf("open %s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	b := &Backend{db: db, moved: make(chan struct{})}
	if b.end, err = lastEntry(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), db.Close())
	}
	return b, nil
}

// badgerOptions are chosen for a log that must not lose or alter an event. OnBlockRead and OnTableAndBlockRead are never
// used: with the first, one flipped bit makes an iterator skip thousands of events without an error; the second ends the
// process.
func badgerOptions(dir string) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithValueThreshold(valueThreshold).
		WithMemTableSize(memTable).
		WithNumMemtables(2).
		WithNumLevelZeroTables(4).
		WithNumLevelZeroTablesStall(8).
		WithNumCompactors(2).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(0).
		WithCompression(options.Snappy).
		WithValueLogFileSize(16 << 20).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithExternalMagic(magic).
		WithChecksumVerificationMode(options.OnTableRead).
		WithLogger(nil)
}

func entryKey(pos uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixEntry}, pos)
}

func originKey(key events.Hash) []byte { return append([]byte{prefixOrigin}, key[:]...) }

// lastEntry returns the highest position, 0 in an empty database.
func lastEntry(db *badger.DB) (uint64, error) {
	var end uint64
	err := db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Reverse, opts.PrefetchValues = true, false
		it := txn.NewIterator(opts)
		defer it.Close()
		it.Seek(entryKey(^uint64(0)))
		if it.ValidForPrefix([]byte{prefixEntry}) {
			end = binary.BigEndian.Uint64(it.Item().Key()[1:])
		}
		return nil
	})
	return end, err
}

// Append implements events.Backend: one batch is one transaction.
func (b *Backend) Append(ctx context.Context, after uint64, entries []events.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return events.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case after != b.end:
		return fmt.Errorf("%w: it is at %d", events.ErrConflict, b.end)
	}
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	pos := after
	for _, e := range entries {
		pos++
		if err := put(txn, pos, e); err != nil {
			return err
		}
	}
	// From here on an error does not say whether the batch was kept.
	if err := txn.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	b.end = pos
	close(b.moved)
	b.moved = make(chan struct{})
	return nil
}

func put(txn *badger.Txn, pos uint64, e events.Entry) error {
	if len(e.Data) >= valueThreshold {
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
		// Nothing was committed, but Badger gives no promise for errors of Set; let the log treat it as unknown.
		return fmt.Errorf("set: %w", err)
	}
	return nil
}

// Read implements events.Backend.
func (b *Backend) Read(ctx context.Context, from uint64) iter.Seq2[events.Entry, error] {
	return func(yield func(events.Entry, error) bool) {
		if err := b.usable(ctx); err != nil {
			yield(events.Entry{}, err)
			return
		}
		txn := b.db.NewTransaction(false)
		defer txn.Discard()
		opts := badger.DefaultIteratorOptions
		opts.PrefetchValues = false // the values lie beside the keys: fetching ahead only copies them twice
		opts.Prefix = []byte{prefixEntry}
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Seek(entryKey(max(from, 1))); it.Valid(); it.Next() {
			e, err := readEntry(it.Item())
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func readEntry(item *badger.Item) (events.Entry, error) {
	key := item.Key()
	if len(key) != 9 {
		return events.Entry{}, fmt.Errorf("%w: a key of %d bytes", events.ErrCorrupt, len(key))
	}
	data, err := item.ValueCopy(nil)
	if err != nil {
		return events.Entry{}, fmt.Errorf("%w: %w", events.ErrCorrupt, err)
	}
	return events.Entry{Pos: binary.BigEndian.Uint64(key[1:]), Data: data}, nil
}

// Find implements events.Backend.
func (b *Backend) Find(ctx context.Context, key events.Hash) (uint64, error) {
	if err := b.usable(ctx); err != nil {
		return 0, err
	}
	var pos uint64
	err := b.db.View(func(txn *badger.Txn) error {
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
	if b.closed {
		return 0, nil, events.ErrClosed
	}
	return b.end, b.moved, nil
}

func (b *Backend) usable(ctx context.Context) error {
	_, err := b.End(ctx)
	return err
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

// Close implements events.Backend. Readers must be done.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	close(b.moved) // wakes those who wait; they see that it is closed
	return b.db.Close()
}
