package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/dalkkak/dkgraph/events"
)

// version is the form of the tables and of the fold; another one means: build again from the log.
const version = "3"

// Errors of the graph.
var (
	// ErrInUse: another process has the folder open.
	ErrInUse = errors.New("the graph is in use by another process")
	// ErrNotGraph: the folder holds other things.
	ErrNotGraph = errors.New("not a graph")
	// ErrOrder: a record is not the one that follows what was applied.
	ErrOrder = errors.New("record out of order")
	// ErrForeign: a record is none, or of another log.
	ErrForeign = errors.New("record of another log")
	// ErrRepeated: a record asserts again what an earlier one made; no honest log holds it.
	ErrRepeated = errors.New("record repeats an earlier one")
	// ErrNotFound: there is no such node.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: a prefix fits more than one node.
	ErrAmbiguous = errors.New("fits more than one")
)

// A Graph is an open graph folder.
type Graph struct {
	db     *badger.DB
	origin string // of the log

	mu  sync.RWMutex // guards below; held while applying
	seq uint64       // of the last event applied
}

// Open opens or creates the graph of the log with the given origin in dir. A graph of another log, of another version, or
// one that cannot be read is thrown away: it is built again from the log. A folder that never was a graph is left alone.
func Open(dir, origin string) (*Graph, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == badger.ManifestFilename }) {
		return nil, fmt.Errorf("graph %s: %w: it holds %s", dir, ErrNotGraph, entries[0].Name())
	}
	g, err := open(dir, origin)
	if err == nil || errors.Is(err, ErrInUse) {
		return g, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("graph %s: %w", dir, err)
	}
	return open(dir, origin)
}

func open(dir, origin string) (*Graph, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	db, err := badger.OpenManaged(badgerOptions(dir))
	if err != nil {
		if strings.Contains(err.Error(), "Cannot acquire directory lock") {
			return nil, fmt.Errorf("graph %s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("graph %s: %w", dir, err)
	}
	g := &Graph{db: db, origin: origin}
	if err := g.readMeta(); err != nil {
		return nil, errors.Join(fmt.Errorf("graph %s: %w", dir, err), db.Close())
	}
	return g, nil
}

// badgerOptions: the folder can be built again, so nothing is synced; every version of every key is kept.
func badgerOptions(dir string) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(false).
		WithValueThreshold(1 << 20).
		WithMemTableSize(16 << 20).
		WithNumMemtables(2).
		WithNumCompactors(2).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(0).
		WithCompression(options.Snappy).
		WithValueLogFileSize(16 << 20).
		WithNumVersionsToKeep(1 << 30).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithExternalMagic(0x6b2).
		WithChecksumVerificationMode(options.OnTableRead).
		WithLogger(nil)
}

var (
	metaSeq     = append(key(tabMeta), "seq"...)
	metaOrigin  = append(key(tabMeta), "origin"...)
	metaVersion = append(key(tabMeta), "version"...)

	metaActivation = append(key(tabMeta), "activation"...)
)

// readMeta finds how far the folder got, and whether it is one for this log and this build.
func (g *Graph) readMeta() error {
	txn := g.db.NewTransactionAt(^uint64(0), false)
	defer txn.Discard()
	raw, err := get(txn, metaSeq)
	if errors.Is(err, ErrNotFound) {
		return nil // empty
	}
	if err != nil {
		return err
	}
	if len(raw) != 8 {
		return errors.New("its position is unreadable")
	}
	for name, want := range map[string]string{string(metaOrigin): g.origin, string(metaVersion): version} {
		have, err := get(txn, []byte(name))
		if err != nil || string(have) != want {
			return fmt.Errorf("it holds %q, want %q", have, want)
		}
	}
	g.seq = binary.BigEndian.Uint64(raw)
	return nil
}

// get returns a copy of the value under k, or ErrNotFound.
func get(txn *badger.Txn, k []byte) ([]byte, error) {
	item, err := txn.Get(k)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return item.ValueCopy(nil)
}

// Seq returns the sequence number of the last event applied.
func (g *Graph) Seq() uint64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.seq
}

// Apply folds the record that follows the last one applied. It is the only way anything gets into the graph.
func (g *Graph) Apply(rec events.Record) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case rec.IsZero() || rec.LogOrigin() != g.origin:
		return fmt.Errorf("apply: %w", ErrForeign)
	case rec.Seq() != g.seq+1:
		return fmt.Errorf("apply event %d after %d: %w", rec.Seq(), g.seq, ErrOrder)
	}
	txn := g.db.NewTransactionAt(g.seq, true)
	defer txn.Discard()
	f := folder{txn: txn, rec: rec}
	if err := f.fold(); err != nil {
		return fmt.Errorf("apply event %d (%s): %w", rec.Seq(), rec.Kind(), err)
	}
	f.set(metaSeq, binary.BigEndian.AppendUint64(nil, rec.Seq()), 0)
	if rec.Seq() == 1 {
		f.set(metaOrigin, []byte(g.origin), 0)
		f.set(metaVersion, []byte(version), 0)
	}
	if f.err != nil {
		return fmt.Errorf("apply event %d: %w", rec.Seq(), f.err)
	}
	if err := txn.CommitAt(rec.Seq(), nil); err != nil {
		return fmt.Errorf("apply event %d: %w", rec.Seq(), err)
	}
	g.seq = rec.Seq()
	return nil
}

// Close closes the graph. Views must be closed before.
func (g *Graph) Close() error { return g.db.Close() }
