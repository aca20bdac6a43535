package badgerlog

import (
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Paths of a store. All that is not Badger's own lies beside its folder, so that no fault inside of it can take both.
func headPath(dir string) string       { return dir + ".head" }
func markPath(dir string) string       { return dir + ".clean" }
func rehearsalPath(dir string) string  { return dir + ".rehearsal" }
func quarantinePath(dir string) string { return dir + ".quarantine" }

const manifestName = "MANIFEST"

// A listing is what lies in Badger's folder before Badger opens it.
type listing struct {
	tables   map[uint64]string // *.sst by number
	wals     []string          // *.mem in the order of their numbers
	values   []string          // *.vlog
	manifest bool
}

func list(dir string) (listing, error) {
	l := listing{tables: make(map[uint64]string)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	for _, e := range entries {
		name := e.Name()
		switch ext := filepath.Ext(name); ext {
		case ".sst":
			if id, err := strconv.ParseUint(strings.TrimSuffix(name, ext), 10, 64); err == nil {
				l.tables[id] = name
			}
		case ".mem":
			l.wals = append(l.wals, name)
		case ".vlog":
			l.values = append(l.values, name)
		}
		l.manifest = l.manifest || name == manifestName
	}
	slices.SortFunc(l.wals, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // 99999.mem is before 100000.mem
		}
		return strings.Compare(a, b)
	})
	return l, nil
}

// fresh reports whether no database was ever in the folder.
func (l listing) fresh() bool {
	return !l.manifest && len(l.tables) == 0 && len(l.wals) == 0 && len(l.values) == 0
}

// A fileSum identifies a file's content.
type fileSum struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc"` // CRC-32C of all bytes
}

func sumFile(dir, name string) (fileSum, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return fileSum{}, err
	}
	defer f.Close()
	crc := crc32.New(castagnoli)
	n, err := io.CopyBuffer(crc, onlyReader{f}, make([]byte, 256<<10))
	return fileSum{Name: name, Size: n, CRC: crc.Sum32()}, err
}

// onlyReader hides what else a file can do, so that io.CopyBuffer takes the buffer it is given.
type onlyReader struct{ io.Reader }

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replaceFile writes a small file so that after a power loss either the old or the new one is there.
func replaceFile(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// Rename moves the closed store at from, with the files that lie beside it, to to, where no store may be. The folder goes
// last: a crash before that leaves no folder at to, and Rename can be called again.
func Rename(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	for _, path := range []func(string) string{headPath, markPath} {
		if err := os.Rename(path(from), path(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := syncDir(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(syncDir(filepath.Dir(from)), syncDir(filepath.Dir(to)))
}
