package badgerlog

import (
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// A finding is what a full look at the keys of a database brought to light.
type finding struct {
	end      uint64
	missing  []span // at most a few
	problems []string
	headOK   bool // the log reaches the head, and the entry there has its hash
}

const maxMissing = 5 // more holes than that are not listed one by one

// verify checks that the entries are dense from 1 on, that each has its place in the origin index, and that the log
// reaches hd.
func verify(db *badger.DB, hd head) (finding, error) {
	var f finding
	err := db.View(func(txn *badger.Txn) error {
		hash, err := f.entries(txn, hd.pos)
		if err != nil {
			return err
		}
		if err := f.origins(txn); err != nil {
			return err
		}
		f.headOK = f.end >= hd.pos && hash == hd.hash
		return nil
	})
	if len(f.missing) > 0 {
		f.problems = append(f.problems, fmt.Sprintf("missing in the sequence: %v", f.missing))
	}
	return f, err
}

// entries walks the keys of the entries and returns the hash of the one at pos.
func (f *finding) entries(txn *badger.Txn, pos uint64) (hash events.Hash, err error) {
	it := txn.NewIterator(keysOf(prefixEntry))
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		at, err := entryPos(it.Item().Key())
		if err != nil {
			return hash, err
		}
		if at != f.end+1 && len(f.missing) < maxMissing {
			f.missing = append(f.missing, span{f.end + 1, at - 1})
		}
		f.end = at
		if at != pos {
			continue
		}
		if err := it.Item().Value(func(v []byte) error { hash = headOf(pos, v).hash; return nil }); err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// origins makes sure that each entry is in the origin index once: without it, what was said would be recorded again.
func (f *finding) origins(txn *badger.Txn) error {
	seen := make([]uint64, f.end/64+1)
	count := uint64(0)
	it := txn.NewIterator(keysOf(prefixOrigin))
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		var at uint64
		err := it.Item().Value(func(v []byte) error {
			if len(v) == 8 {
				at = binary.BigEndian.Uint64(v)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if at == 0 || at > f.end {
			f.problems = append(f.problems, fmt.Sprintf("the origin index names event %d", at))
			return nil
		}
		if bit := uint64(1) << (at % 64); seen[at/64]&bit == 0 {
			seen[at/64] |= bit
			count++
		}
	}
	if count < f.end && len(f.missing) == 0 {
		f.problems = append(f.problems, fmt.Sprintf("%d of %d events are not in the origin index", f.end-count, f.end))
	}
	return nil
}

// keysOf are options to walk the keys with a prefix. Values lie beside the keys: fetching them ahead only copies twice.
func keysOf(prefix byte) badger.IteratorOptions {
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = []byte{prefix}
	return opts
}
