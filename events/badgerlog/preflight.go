package badgerlog

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"golang.org/x/sync/errgroup"
)

// A survey is what is known of a store's files before Badger sees them.
type survey struct {
	listing
	listed  map[uint64]badger.TableManifest // the tables that the MANIFEST names
	sums    map[string]fileSum              // of those tables
	logs    []wal
	marked  bool     // everything is as the last clean Close left it
	end     uint64   // then: where the log ended
	notes   []string // what is odd, for the error if the events turn out not to be whole
	pending int64    // bytes in the WALs, which opening writes into tables
}

// look surveys the folder and changes nothing. It fails on what Badger would answer by deleting files or ending the
// process; what is merely odd is noted.
func look(dir string) (survey, error) {
	l, err := list(dir)
	if err != nil {
		return survey{}, err
	}
	s := survey{listing: l, sums: make(map[string]fileSum)}
	if err := s.readManifest(dir); err != nil {
		return s, err
	}
	m, marked := readMark(dir)
	if err := s.checkTables(dir, m); err != nil {
		return s, err
	}
	for _, name := range l.wals {
		w, err := readWAL(dir, name)
		if err != nil {
			return s, err
		}
		s.logs = append(s.logs, w)
		s.pending += int64(len(w.data))
		if n := w.note(); n != "" {
			s.notes = append(s.notes, n)
		}
	}
	if err := checkValueLog(dir, l.values); err != nil {
		return s, err
	}
	if marked {
		s.compare(dir, m)
	}
	return s, nil
}

// readManifest takes the tables from the MANIFEST. Without one Badger starts anew and deletes the tables there are.
func (s *survey) readManifest(dir string) error {
	if !s.manifest {
		if len(s.tables) > 0 {
			return &DamageError{Dir: dir, Problem: fmt.Sprintf("MANIFEST is missing, and without it the %d tables (%s) cannot be read",
				len(s.tables), nameList(slices.Sorted(maps.Values(s.tables))))}
		}
		if len(s.wals) > 0 {
			s.notes = append(s.notes, "MANIFEST is missing")
		}
		return nil
	}
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return err
	}
	defer f.Close()
	m, end, err := badger.ReplayManifestFile(f, magic, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return &DamageError{Dir: dir, Problem: "MANIFEST cannot be read: " + err.Error()}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > end {
		s.notes = append(s.notes, fmt.Sprintf("MANIFEST: its last %d bytes are part of a record", info.Size()-end))
	}
	s.listed = m.Tables
	for _, id := range slices.Sorted(maps.Keys(s.tables)) {
		if _, ok := m.Tables[id]; !ok {
			s.notes = append(s.notes, s.tables[id]+" is not in the MANIFEST")
		}
	}
	return nil
}

// checkTables makes sure that every table in the MANIFEST is there and whole. One that has the sum it had at the last
// clean Close was checked then.
func (s *survey) checkTables(dir string, m mark) error {
	ids := slices.Sorted(maps.Keys(s.listed))
	for _, id := range ids {
		if _, ok := s.tables[id]; !ok {
			return &DamageError{Dir: dir, Problem: table.IDToFilename(id) + " is missing, and the MANIFEST names it", Notes: s.notes}
		}
	}
	var mu sync.Mutex // guards s.sums
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, id := range ids {
		g.Go(func() error {
			name := s.tables[id]
			sum, err := checkOrRecognise(dir, name, m, s.listed[id].Compression)
			if err != nil {
				return &DamageError{Dir: dir, Problem: name + ": " + err.Error()}
			}
			mu.Lock()
			defer mu.Unlock()
			s.sums[name] = sum
			return nil
		})
	}
	return g.Wait()
}

func checkOrRecognise(dir, name string, m mark, compression options.CompressionType) (fileSum, error) {
	if known, ok := m.table(name); ok {
		if sum, err := sumFile(dir, name); err == nil && sum == known {
			return sum, nil
		}
	}
	return checkTable(dir, name, compression)
}

// compare sets marked if the folder is as m says, and notes what is not.
func (s *survey) compare(dir string, m mark) {
	before := len(s.notes)
	sum, err := sumFile(dir, manifestName)
	switch {
	case err != nil:
		s.notes = append(s.notes, "MANIFEST: "+err.Error())
	case sum.Size != m.Manifest.Size:
		s.notes = append(s.notes, fmt.Sprintf("MANIFEST has %d bytes, and had %d when the store was closed", sum.Size, m.Manifest.Size))
	case sum != m.Manifest:
		s.notes = append(s.notes, "MANIFEST is not what it was when the store was closed")
	}
	for _, t := range m.Tables {
		if s.sums[t.Name] != t {
			s.notes = append(s.notes, t.Name+" is not what it was when the store was closed")
		}
	}
	if len(s.sums) != len(m.Tables) || len(s.logs) > 0 {
		s.notes = append(s.notes, "there are files that were not there when the store was closed")
	}
	s.marked, s.end = len(s.notes) == before && before == 0, m.End
}

func nameList(names []string) string {
	const most = 3
	if len(names) <= most {
		return fmt.Sprint(names)
	}
	return fmt.Sprintf("%v and %d more", names[:most], len(names)-most)
}

// checkValueLog makes sure that no value ever went to the value log: Badger logs its read errors instead of returning
// them. A file of it that Badger had no time to cut is full of zeros behind its header.
func checkValueLog(dir string, names []string) error {
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		var buf [walHeader + 32]byte
		n, _ := f.ReadAt(buf[:], 0)
		if err := f.Close(); err != nil {
			return err
		}
		if n > walHeader && slices.Max(buf[walHeader:n]) != 0 {
			return &DamageError{
				Dir: dir, Problem: name + " holds values, and this package puts none there",
				Hint: "nothing was changed; if no other program wrote to the store, no event lies in that file, and it can be moved away",
			}
		}
	}
	return nil
}

// tidy removes what is worth nothing and can keep Badger from opening: WALs that never got a byte, the empty value log and
// its statistics, and the registry of encryption keys, of which there are none. Badger makes them anew. It is called when
// the events are known to be whole without them.
func tidy(dir string, s survey) error {
	names := append([]string{"DISCARD", "KEYREGISTRY"}, s.values...)
	for _, w := range s.logs {
		if w.size == 0 {
			names = append(names, w.name)
		}
	}
	for _, name := range names {
		if err := removeIfThere(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, w := range s.logs {
		if w.size > 0 {
			if err := w.mend(filepath.Join(dir, w.name)); err != nil {
				return err
			}
		}
	}
	return nil
}
