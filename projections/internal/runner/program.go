package runner

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// pinPath keeps the folders of a PATH in which nobody but the user can put a program: absolute ones, not writable for
// everybody, not inside the granted root, where whoever is being checked writes.
func pinPath(path, root string) (keep, dropped []string) {
	for _, dir := range filepath.SplitList(path) {
		if why := untrustedDir(dir, root); why != "" {
			if why != "it does not exist" {
				dropped = append(dropped, fmt.Sprintf("%q: %s", dir, why))
			}
			continue
		}
		keep = append(keep, dir)
	}
	return keep, dropped
}

func untrustedDir(dir, root string) string {
	if !filepath.IsAbs(dir) {
		return "it is not absolute"
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "it does not exist"
	}
	info, err := os.Stat(real)
	switch {
	case err != nil || !info.IsDir():
		return "it does not exist"
	case inside(root, dir) || inside(root, real):
		return "it lies in the granted folder"
	case worldWritable(info):
		return "everybody may write there"
	}
	return ""
}

// A program is a file to execute.
type program struct {
	exec   string // what to start it by, as a shell would: a tool may look at how it was called
	path   string // the same, absolute
	real   string // the file behind it
	sha256 string
	inTree bool
}

// A fault is why an exec did not happen in a way that a shell would go on from, with the status a shell would give.
type fault struct {
	status int
	code   string // the problem it is when the outcome rests on it
	detail string
	said   string // what is written to its stderr
}

// A finder of programs resolves the first word of a command. It is made for one run.
type programs struct {
	root    string
	path    []string
	dropped []string
	tools   []string
	hashes  *Hashes
}

// find resolves name as a shell in dir would, within the pinned PATH.
func (ps *programs) find(name, dir string) (program, *fault, error) {
	if name == "" {
		return program{}, ps.notFound(name), nil
	}
	if strings.ContainsRune(name, filepath.Separator) {
		path := absFrom(dir, name)
		if err := ps.mayExec(name, path); err != nil {
			return program{}, nil, err
		}
		if f := executable(path); f != nil {
			f.said = name + ": " + f.said
			f.detail = name + " " + f.detail
			return program{}, f, nil
		}
		p, err := ps.identify(name, path)
		return p, nil, err
	}
	path, denied := ps.lookup(name)
	if path != "" {
		p, err := ps.identify(path, path)
		return p, nil, err
	}
	if denied != "" {
		return program{}, &fault{126, ProgramNotExecutable, denied + " may not be executed", denied + ": Permission denied"}, nil
	}
	return program{}, ps.notFound(name), nil
}

// lookup searches the pinned PATH. denied is a file of that name that may not be executed, when there is no better.
func (ps *programs) lookup(name string) (path, denied string) {
	for _, d := range ps.path {
		file := filepath.Join(d, name)
		switch f := executable(file); {
		case f == nil:
			return file, ""
		case f.status == 126 && denied == "":
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				denied = file
			}
		}
	}
	return "", denied
}

func (ps *programs) notFound(name string) *fault {
	detail := fmt.Sprintf("%q is not on the pinned PATH", name)
	if len(ps.dropped) > 0 {
		detail += "; left out of it: " + strings.Join(ps.dropped, ", ")
	}
	return &fault{127, ProgramNotFound, clip(detail, 1<<10), name + ": command not found"}
}

// systemDirs hold what belongs to the machine and not to whoever is being checked.
var systemDirs = []string{
	"/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/nix/store", "/snap", "/run/current-system",
	"/System", "/Library", "/Applications", "/home/linuxbrew",
}

// mayExec refuses a path, as written by name, that is neither in the granted root nor the system's or a tool's own.
func (ps *programs) mayExec(name, path string) error {
	dir, err := filepath.EvalSymlinks(dirOf(path))
	if err != nil || inside(ps.root, dir) {
		return nil // where there is no folder there is nothing to start, and that is found out later
	}
	if filepath.IsAbs(name) {
		for _, list := range [][]string{systemDirs, ps.path, ps.tools} {
			if slices.ContainsFunc(list, func(d string) bool { return insideReal(d, dir) }) {
				return nil
			}
		}
	}
	return problemf(StartError, "%s lies outside of the granted folder and is no program of the system", name)
}

// insideReal is inside with the symlinks of dir followed.
func insideReal(dir, resolved string) bool {
	if inside(dir, resolved) {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && inside(real, resolved)
}

// executable says why path cannot be executed, nil when it can.
func executable(path string) *fault {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &fault{127, ProgramNotFound, "does not exist", "No such file or directory"}
	case err != nil:
		return &fault{126, ProgramNotExecutable, "cannot be looked at", "Permission denied"}
	case info.IsDir():
		return &fault{126, ProgramNotExecutable, "is a folder", "Is a directory"}
	case !info.Mode().IsRegular() || !mayExecute(path, info):
		return &fault{126, ProgramNotExecutable, "may not be executed", "Permission denied"}
	}
	return nil
}

// identify finds the file behind an executable path and takes its digest.
func (ps *programs) identify(name, path string) (program, error) {
	p := program{exec: name, path: path}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return p, problemf(StartError, "%s: %v", path, err)
	}
	dir, err := filepath.EvalSymlinks(dirOf(path))
	if err != nil {
		return p, problemf(StartError, "%s: %v", path, err)
	}
	p.real, p.inTree = real, inside(ps.root, real) || inside(ps.root, dir)
	if p.sha256, err = ps.hashes.of(real); err != nil {
		return p, problemf(StartError, "%s cannot be read to record what it is: %v", path, err)
	}
	return p, nil
}

// interpreterOf returns the first word of a script's #! line, "" when it has none.
func interpreterOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(io.LimitReader(f, 256), 256).ReadString('\n')
	line, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	if words := strings.Fields(line); len(words) > 0 {
		return words[0]
	}
	return ""
}

// maxProgramBytes bounds the files whose digest is taken before they are started.
const maxProgramBytes = 512 << 20

// Hashes remembers the digests of programs for as long as their files are untouched. It is safe for concurrent use.
type Hashes struct {
	mu    sync.Mutex // guards below
	known map[fileID]string
}

// maxHashes bounds the memory of Hashes; beyond it everything is forgotten, which costs time only.
const maxHashes = 1024

// of gives the digest of a file; "" when it is too large.
func (h *Hashes) of(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "", nil // executable and not readable is rare, and honest
		}
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxProgramBytes {
		return "", err
	}
	id, ok := idOf(info)
	if ok {
		h.mu.Lock()
		sum, known := h.known[id]
		h.mu.Unlock()
		if known {
			return sum, nil
		}
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, maxProgramBytes)); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.known == nil || len(h.known) >= maxHashes {
			h.known = make(map[fileID]string)
		}
		h.known[id] = sum
	}
	return sum, nil
}
