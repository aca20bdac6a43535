package badgerlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// rehearse lets Badger open a copy of the store and looks whether the log is whole in it. Opening is when Badger cuts
// WALs at the first record it cannot read and deletes the tables it does not know; in the copy it does so harmlessly,
// and the store itself stays what it was if the copy comes out short.
//
// The tables in the copy are hard links. That is safe only as long as nothing is compacted in it: Badger empties a table
// before it removes it.
func (b *Backend) rehearse(s survey) (uint64, error) {
	scratch := rehearsalPath(b.dir)
	if err := copyStore(b.dir, scratch, s, linkOrCopy); err != nil {
		return 0, fmt.Errorf("rehearse opening %s: %w", b.dir, err)
	}
	for _, w := range s.logs {
		if err := w.copyTo(filepath.Join(scratch, w.name)); err != nil {
			return 0, fmt.Errorf("rehearse opening %s: %w", b.dir, err)
		}
	}
	opts := badgerOptions(scratch, b.tune).WithNumCompactors(0).WithSyncWrites(false).
		WithNumLevelZeroTables(math.MaxInt - 1).WithNumLevelZeroTablesStall(math.MaxInt)
	db, _, err := openDB(opts)
	if err != nil {
		return 0, &DamageError{Dir: b.dir, Problem: "badger cannot open a copy of it: " + err.Error(), Notes: s.notes}
	}
	f, err := verify(db, b.head.head)
	err = errors.Join(err, db.Close())
	if err != nil {
		return 0, &DamageError{Dir: b.dir, Problem: err.Error(), Notes: s.notes}
	}
	return f.end, b.judge(f, s)
}

// judge says whether what a rehearsal found is good enough to let Badger open the store itself.
func (b *Backend) judge(f finding, s survey) error {
	hd := b.head.head
	e := &DamageError{Dir: b.dir, Notes: s.notes}
	if len(f.problems) > 0 {
		if f.end < hd.pos {
			f.problems = append(f.problems, fmt.Sprintf("%v missing at the end", span{f.end + 1, hd.pos}))
		}
		e.Problem = strings.Join(f.problems, ", ")
		return e
	}
	switch {
	case f.end < hd.pos:
		e.Problem = fmt.Sprintf("%v missing at the end", span{f.end + 1, hd.pos})
	case b.head.missing && f.end > 0:
		e.Problem = fmt.Sprintf("its head file %s is missing or unreadable, so that nothing says whether there were more than %d events", headPath(b.dir), f.end)
	case !f.headOK && !b.head.missing:
		e.Problem = fmt.Sprintf("event %d is not the one that was written there (%.12s…)", hd.pos, hd.hash)
	default:
		return nil
	}
	if b.opts.AcceptEnd && f.end > 0 {
		return b.accept(s)
	}
	if f.end > 0 {
		e.Hint = fmt.Sprintf("nothing was changed; restore the store from a backup or an export, or, to go on with the %d events there are, open it once with AcceptEnd", f.end)
	}
	return e
}

// accept makes the log that is there the log, and keeps a copy of the files as they were found. The copies are not hard
// links: they outlive many a compaction.
func (b *Backend) accept(s survey) error {
	dst := quarantinePath(b.dir)
	if err := copyStore(b.dir, dst, s, copyFile); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	if err := copyFile(headPath(b.dir), filepath.Join(dst, "head")); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	for _, w := range s.logs {
		if err := copyFile(filepath.Join(b.dir, w.name), filepath.Join(dst, w.name)); err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	b.head.head, b.head.missing = head{}, true
	return nil
}

// copyStore makes dst a copy of the MANIFEST and the tables in dir, whose content does not change any more.
func copyStore(dir, dst string, s survey, transfer func(from, to string) error) error {
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return err
	}
	for _, name := range s.tables {
		if err := transfer(filepath.Join(dir, name), filepath.Join(dst, name)); err != nil {
			return err
		}
	}
	if !s.manifest {
		return nil
	}
	return copyFile(filepath.Join(dir, manifestName), filepath.Join(dst, manifestName))
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to) // not every file system has hard links
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// openDB opens a database. Some damage makes Badger panic; that is an error here.
func openDB(opts badger.Options) (db *badger.DB, w *watcher, err error) {
	defer func() {
		if r := recover(); r != nil {
			first, _, _ := strings.Cut(fmt.Sprint(r), "\n")
			db, err = nil, fmt.Errorf("badger: %s", first)
		}
	}()
	w = &watcher{}
	if db, err = badger.Open(opts.WithLogger(w)); err != nil {
		return nil, nil, err
	}
	if err := w.fault(); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, w, nil
}
