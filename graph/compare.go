package graph

import (
	"bytes"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Compare reports the first row in which two graphs differ, in any version of any table; nil if there is none. It is how
// an audit knows that a graph holds what its log says and nothing else.
func Compare(a, b *Graph) error {
	ta, tb := a.db.NewTransactionAt(^uint64(0), false), b.db.NewTransactionAt(^uint64(0), false)
	defer ta.Discard()
	defer tb.Discard()
	ia, ib := allVersions(ta), allVersions(tb)
	defer ia.Close()
	defer ib.Close()
	ia.Rewind()
	ib.Rewind()
	for ; ia.Valid() || ib.Valid(); ia.Next() {
		if !ia.Valid() || !ib.Valid() {
			return fmt.Errorf("one graph has more rows: %s", describe(ia, ib))
		}
		if err := sameRow(ia.Item(), ib.Item()); err != nil {
			return err
		}
		ib.Next()
	}
	return nil
}

func allVersions(txn *badger.Txn) *badger.Iterator {
	opts := badger.DefaultIteratorOptions
	opts.AllVersions, opts.PrefetchValues = true, false
	return txn.NewIterator(opts)
}

func describe(its ...*badger.Iterator) string {
	for _, it := range its {
		if it.Valid() {
			return row(it.Item())
		}
	}
	return ""
}

func row(item *badger.Item) string {
	return fmt.Sprintf("table %#02x, event %d, key %x", item.Key()[0], item.Version(), item.Key()[1:])
}

func sameRow(a, b *badger.Item) error {
	switch {
	case !bytes.Equal(a.Key(), b.Key()) || a.Version() != b.Version():
		return fmt.Errorf("a row is in one graph only: %s; %s", row(a), row(b))
	case a.IsDeletedOrExpired() != b.IsDeletedOrExpired() || a.UserMeta() != b.UserMeta():
		return fmt.Errorf("a row differs: %s", row(a))
	}
	var va []byte
	if err := a.Value(func(v []byte) error { va = bytes.Clone(v); return nil }); err != nil {
		return err
	}
	return b.Value(func(v []byte) error {
		if !bytes.Equal(va, v) {
			return fmt.Errorf("a row differs: %s", row(a))
		}
		return nil
	})
}
