package graph

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// scan yields the items with a prefix in key order. An item is valid only until the next one.
func scan(txn *badger.Txn, prefix []byte) iter.Seq[*badger.Item] {
	return scanFrom(txn, prefix, prefix)
}

func scanFrom(txn *badger.Txn, prefix, from []byte) iter.Seq[*badger.Item] {
	return func(yield func(*badger.Item) bool) {
		opts := badger.DefaultIteratorOptions
		opts.PrefetchValues = false
		opts.Prefix = prefix
		it := txn.NewIterator(opts)
		defer it.Close()
		for it.Seek(from); it.Valid(); it.Next() {
			if !yield(it.Item()) {
				return
			}
		}
	}
}

// newestIDs yields the ids at the end of the keys with a prefix.
func newestIDs(txn *badger.Txn, prefix []byte) iter.Seq[events.ID] {
	return func(yield func(events.ID) bool) {
		for item := range scan(txn, prefix) {
			if !yield(tailID(item.Key())) {
				return
			}
		}
	}
}

// others collects the far ends of at most limit edges with a prefix, newest first.
func others(txn *badger.Txn, prefix []byte, limit int) []events.ID {
	var ids []events.ID
	for id := range newestIDs(txn, prefix) {
		if len(ids) == limit {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// valueIDs collects at most limit ids that are values.
func valueIDs(txn *badger.Txn, prefix []byte, limit int) ([]events.ID, error) {
	var ids []events.ID
	for item := range scan(txn, prefix) {
		if len(ids) == limit {
			break
		}
		v, err := item.ValueCopy(nil)
		if err != nil || len(v) != idLen {
			return nil, fmt.Errorf("row %x: %d bytes: %w", item.Key(), len(v), cmp.Or(err, errRow))
		}
		ids = append(ids, events.ID(v))
	}
	return ids, nil
}

var errRow = errors.New("want an id")

func keysWithPrefix(txn *badger.Txn, prefix []byte, limit int) []keyBuf {
	var keys []keyBuf
	for item := range scan(txn, prefix) {
		if len(keys) == limit {
			break
		}
		keys = append(keys, item.KeyCopy(nil))
	}
	return keys
}
