package badgerlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/dalkkak/dkgraph/events"
)

// Open opens or creates the store in dir.
func Open(dir string) (*Backend, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, opts Options) (*Backend, error) { return open(dir, opts, defaultTuning()) }

func open(dir string, opts Options, t tuning) (*Backend, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if name, err := networkFS(dir); err != nil {
		return nil, fmt.Errorf("open: %s: %w", dir, err)
	} else if name != "" && !opts.AllowNetworkFS {
		return nil, fmt.Errorf("open: %s: %w: it is on %s, where a crash can lose what was acknowledged\nhint: keep the store on a local disk", dir, ErrNetworkFS, name)
	}
	b := &Backend{dir: dir, opts: opts, tune: t, moved: make(chan struct{})}
	var err error
	if b.head, err = openHead(dir); err != nil {
		return nil, fmt.Errorf("open: %s: %w", dir, err)
	}
	if err := b.start(); err != nil {
		if b.head.fresh && b.head.missing {
			err = errors.Join(err, removeIfThere(headPath(dir))) // an empty one says no more than none
		}
		return nil, errors.Join(fmt.Errorf("open: %w", err), b.head.close())
	}
	return b, nil
}

// start opens the database, after making sure that nothing is lost by that. The head file is open and locked; b.use is
// held, or nobody else has b yet.
func (b *Backend) start() error {
	s, err := look(b.dir)
	if err != nil {
		return err
	}
	if err := b.roomToOpen(s); err != nil {
		return err
	}
	end, err := b.examine(s)
	if err != nil {
		return err
	}
	if err := b.prepare(s); err != nil {
		return err
	}
	if err := b.openReal(end); err != nil {
		return err
	}
	b.known = s.sums
	return os.RemoveAll(rehearsalPath(b.dir))
}

// examine returns where the log in the folder ends, without changing the folder.
func (b *Backend) examine(s survey) (uint64, error) {
	switch {
	case s.fresh() && b.head.head.pos > 0:
		return 0, &DamageError{Dir: b.dir, Problem: fmt.Sprintf("the folder is empty, and the log in it had at least %d events", b.head.head.pos)}
	case s.fresh():
		return 0, nil
	case s.marked && !b.head.missing && b.head.head.pos == s.end:
		return s.end, nil
	}
	return b.rehearse(s)
}

// prepare makes the last changes before Badger is let in: from here on a crash leaves a store that was not closed.
func (b *Backend) prepare(s survey) error {
	if b.head.missing && b.head.head.pos == 0 {
		if err := b.head.begin(head{}); err != nil {
			return err
		}
	}
	if err := tidy(b.dir, s); err != nil {
		return err
	}
	if err := removeIfThere(markPath(b.dir)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(b.dir))
}

// openReal opens the database, which must end at end, and be the one that the head file knows.
func (b *Backend) openReal(end uint64) error {
	db, w, err := openDB(badgerOptions(b.dir, b.tune))
	if err != nil {
		if strings.Contains(err.Error(), "Cannot acquire directory lock") {
			return fmt.Errorf("%s: %w", b.dir, ErrInUse)
		}
		return fmt.Errorf("%s: %w", b.dir, err)
	}
	if err := b.recognise(db, end); err != nil {
		return errors.Join(err, db.Close())
	}
	b.db, b.watch = db, w
	b.synced = dirState{}
	return nil
}

func (b *Backend) recognise(db *badger.DB, end uint64) error {
	last, err := lastEntry(db)
	if err != nil {
		return fmt.Errorf("%s: %w", b.dir, err)
	}
	if last.Pos != end {
		return &DamageError{Dir: b.dir, Problem: fmt.Sprintf("it ends at event %d, and before it was opened it ended at %d", last.Pos, end)}
	}
	hd := b.head.head
	if hd.pos > 0 {
		e, err := entryAt(db, hd.pos)
		if err != nil || headOf(hd.pos, e.Data) != hd {
			return &DamageError{Dir: b.dir, Problem: fmt.Sprintf("event %d is not the one that was written there (%.12s…): %v", hd.pos, hd.hash, err)}
		}
	}
	b.mu.Lock()
	b.end = end
	b.mu.Unlock()
	return b.head.write(headOf(last.Pos, last.Data))
}

// roomToOpen makes sure that a full device does not end the process: opening writes the WALs into tables, and twice if it
// is rehearsed.
func (b *Backend) roomToOpen(s survey) error {
	need := 4*uint64(b.tune.memTable) + 3*uint64(s.pending)
	free, err := b.tune.free(b.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", b.dir, err)
	}
	if free < need {
		return fmt.Errorf("%s: %w: %d MB free, %d MB needed to open it", b.dir, events.ErrNoSpace, free>>20, need>>20)
	}
	return nil
}

// Close implements events.Backend. It waits for the append and the reads that are under way.
func (b *Backend) Close() error {
	b.appending.Lock()
	defer b.appending.Unlock()
	if !b.close() {
		return nil
	}
	b.use.Lock()
	defer b.use.Unlock()
	var err error
	if b.db != nil {
		err = b.stop()
	}
	return errors.Join(err, b.head.close())
}

// close marks b closed and reports whether it was not.
func (b *Backend) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	close(b.moved) // wakes those who wait; they see that it is closed
	return true
}

// stop closes the database and, if all went well, marks the folder as cleanly closed.
func (b *Backend) stop() error {
	fault := b.watch.fault()
	err := b.db.Close()
	b.db = nil
	if err = errors.Join(err, b.head.sync()); err != nil || fault != nil {
		return errors.Join(err, fault)
	}
	return b.mark()
}

// mark writes down what the folder holds. Tables that are new are checked: later opens rely on the mark alone.
func (b *Backend) mark() error {
	s, err := list(b.dir)
	if err != nil {
		return err
	}
	sv := survey{listing: s, sums: make(map[string]fileSum)}
	if err := sv.readManifest(b.dir); err != nil {
		return err
	}
	m := mark{End: b.end}
	for _, f := range b.known {
		m.Tables = append(m.Tables, f)
	}
	if err := sv.checkTables(b.dir, m); err != nil {
		return err
	}
	if err := checkValueLog(b.dir, s.values); err != nil {
		return err
	}
	if len(s.wals) > 0 || len(s.tables) != len(sv.listed) {
		return nil // Badger kept something open; the next open rehearses
	}
	m.Tables = nil
	for _, f := range sv.sums {
		m.Tables = append(m.Tables, f)
	}
	if m.Manifest, err = sumFile(b.dir, manifestName); err != nil {
		return err
	}
	return m.write(b.dir)
}
