package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dalkkak/dkgraph/events"
)

// maxHashBytes bounds the files whose digest is taken.
const maxHashBytes = 64 << 20

// Look looks at paths, taken relative to cwd, by itself and without any command. root and cwd are as [CheckCWD] gives
// them. It never leaves root: a path that would, by "..", as an absolute path or through a symlink, gets an error text
// and no facts. Of a symlink, Type and Target are its own; the rest is of what it leads to, and Exists is false when
// that is gone.
func Look(root, cwd string, paths []string) []events.File {
	files := make([]events.File, len(paths))
	dir, err := os.OpenRoot(root)
	if err == nil {
		defer dir.Close()
	}
	for i, path := range paths {
		files[i].Path = path
		if err != nil {
			files[i].Error = "the granted folder cannot be opened: " + plain(err.Error())
			continue
		}
		lookAt(dir, root, cwd, &files[i])
	}
	return files
}

func lookAt(dir *os.Root, root, cwd string, f *events.File) {
	if f.Path == "" || strings.ContainsRune(f.Path, 0) {
		f.Error = "not a path"
		return
	}
	name, abs, err := nameIn(root, cwd, f.Path)
	if err != nil {
		f.Error = err.Error()
		return
	}
	f.Abs = abs
	info, err := dir.Lstat(name)
	if err != nil {
		f.Error = lookText(err)
		return
	}
	f.Type, f.Mode = typeOf(info.Mode()), info.Mode().String()
	if f.Type == "symlink" {
		if f.Target, err = dir.Readlink(name); err != nil {
			f.Error = lookText(err)
			return
		}
		if info, err = dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			f.Error = "the symlink leads to nothing"
			return
		} else if err != nil {
			f.Error = lookText(err)
			return
		}
		f.Leads = typeOf(info.Mode())
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		f.Abs = real
	}
	f.Exists, f.Size, f.MTime = true, info.Size(), info.ModTime().UTC()
	if info.Mode().IsRegular() && info.Size() <= maxHashBytes {
		if f.SHA256, err = hashIn(dir, name); err != nil {
			f.Error = lookText(err)
		}
	}
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

// lookText is an error in words; "" for a file that is simply not there, which is a fact and no error.
func lookText(err error) string {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ""
	case errors.Is(err, fs.ErrPermission):
		return "may not be looked at"
	case errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes"):
		return "leads outside of the granted folder"
	}
	return plain(err.Error())
}

// ErrOutside: a path leads out of the granted folder by its text alone.
var ErrOutside = errors.New("lies outside of the granted folder")

// nameIn returns the name of path, which is absolute or starts at cwd, within root.
func nameIn(root, cwd, path string) (name, abs string, err error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	name, err = filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(name) {
		return "", "", ErrOutside
	}
	return name, path, nil
}

// Read reads a regular file of at most limit bytes, as Look looks at it: it never leaves root.
func Read(root, cwd, path string, limit int64) ([]byte, error) {
	name, _, err := nameIn(root, cwd, path)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("is no regular file"))
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("is over %d bytes, too much to search", limit)
	}
	return content, err
}

// hashIn takes the digest of a regular file. It opens without waiting: what was a file a moment ago may be a pipe now.
func hashIn(dir *os.Root, name string) (string, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("changed while it was looked at")
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, maxHashBytes+1)); err != nil {
		return "", err
	} else if n > maxHashBytes {
		return "", errors.New("grew while it was looked at")
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
