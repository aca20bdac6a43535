package badgerlog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// A read is done in pieces, the first of one entry, so that no transaction of Badger is open while the caller works on
// what it got: it may take its time, append, or close the backend.
const (
	maxPiece      = 1024
	maxPieceBytes = 1 << 20
)

// Read implements events.Backend. It goes further than it has to: a position that is missing is an error, also at the
// end, because Badger's iterator ends early, without a word, at a block it cannot read.
func (b *Backend) Read(ctx context.Context, from uint64) iter.Seq2[events.Entry, error] {
	return func(yield func(events.Entry, error) bool) {
		end, err := b.End(ctx)
		if err != nil {
			yield(events.Entry{}, err)
			return
		}
		size := 1
		for next := max(from, 1); next <= end; {
			piece, err := b.piece(ctx, next, min(end, next+uint64(size)-1))
			for _, e := range piece {
				if err := ctx.Err(); err != nil {
					yield(events.Entry{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(events.Entry{}, err)
				return
			}
			next += uint64(len(piece))
			size = min(8*size, maxPiece)
		}
	}
}

// piece returns the entries at from to to, or fewer when they are big, but at least one.
func (b *Backend) piece(ctx context.Context, from, to uint64) (piece []events.Entry, err error) {
	err = b.view(ctx, func(txn *badger.Txn) error {
		if from == to {
			e, err := getEntry(txn, from)
			if err == nil {
				piece = append(piece, e)
			}
			return err
		}
		piece, err = scan(txn, from, to)
		return err
	})
	return piece, err
}

func scan(txn *badger.Txn, from, to uint64) ([]events.Entry, error) {
	it := txn.NewIterator(keysOf(prefixEntry))
	defer it.Close()
	piece := make([]events.Entry, 0, to-from+1)
	bytes := 0
	for it.Seek(entryKey(from)); it.Valid() && from <= to && bytes < maxPieceBytes; it.Next() {
		e, err := readEntry(it.Item())
		if err != nil {
			return piece, err
		}
		if e.Pos != from {
			return piece, fmt.Errorf("%w: %v missing", events.ErrGap, span{from, e.Pos - 1})
		}
		piece = append(piece, e)
		bytes += len(e.Data)
		from++
	}
	if len(piece) == 0 {
		return nil, fmt.Errorf("%w: %v missing", events.ErrGap, span{from, to})
	}
	return piece, nil
}

func getEntry(txn *badger.Txn, pos uint64) (events.Entry, error) {
	item, err := txn.Get(entryKey(pos))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return events.Entry{}, fmt.Errorf("%w: %v missing", events.ErrGap, span{pos, pos})
	}
	if err != nil {
		return events.Entry{}, fmt.Errorf("%w: %w", events.ErrCorrupt, err)
	}
	return readEntry(item)
}

func entryAt(db *badger.DB, pos uint64) (e events.Entry, err error) {
	err = db.View(func(txn *badger.Txn) error {
		e, err = getEntry(txn, pos)
		return err
	})
	return e, err
}

// lastEntry returns the entry with the highest position, the zero one in an empty database.
func lastEntry(db *badger.DB) (e events.Entry, err error) {
	err = db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Reverse, opts.PrefetchValues = true, false
		it := txn.NewIterator(opts)
		defer it.Close()
		it.Seek(entryKey(^uint64(0)))
		if it.ValidForPrefix([]byte{prefixEntry}) {
			e, err = readEntry(it.Item())
		}
		return err
	})
	return e, err
}

func readEntry(item *badger.Item) (events.Entry, error) {
	pos, err := entryPos(item.Key())
	if err != nil {
		return events.Entry{}, err
	}
	data, err := item.ValueCopy(nil)
	if err != nil {
		return events.Entry{}, fmt.Errorf("%w: %w", events.ErrCorrupt, err)
	}
	return events.Entry{Pos: pos, Data: data}, nil
}
