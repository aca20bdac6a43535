package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CheckCWD resolves a working folder and finds the granted root it lies in, the longest one. Symlinks are followed on
// both sides. When the folder cannot be used, problem is one of cwd_unknown, cwd_missing, cwd_not_dir, cwd_not_granted,
// and detail says it in words.
func CheckCWD(cwd string, roots []string) (resolved, root, problem, detail string) {
	switch {
	case cwd == "":
		return "", "", CWDUnknown, "the working folder is not known"
	case !filepath.IsAbs(cwd):
		return "", "", CWDUnknown, fmt.Sprintf("the working folder %s is not an absolute path", cwd)
	}
	resolved, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		code, why := lookError(err)
		return "", "", code, fmt.Sprintf("the working folder %s %s", cwd, why)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		code, why := lookError(err)
		return "", "", code, fmt.Sprintf("the working folder %s %s", cwd, why)
	}
	if !info.IsDir() {
		return "", "", CWDNotDir, fmt.Sprintf("%s is not a folder", cwd)
	}
	for _, r := range roots {
		real, err := filepath.EvalSymlinks(r)
		if err != nil || !filepath.IsAbs(real) {
			continue // a root that is gone grants nothing
		}
		if inside(real, resolved) && len(real) > len(root) {
			root = real
		}
	}
	if root == "" {
		return "", "", CWDNotGranted, fmt.Sprintf("%s lies in no folder in which commands may run", cwd)
	}
	return resolved, root, "", ""
}

// lookError turns the error of looking at a folder into a problem and the end of a sentence about it.
func lookError(err error) (code, why string) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return CWDMissing, "does not exist"
	case errors.Is(err, syscall.ENOTDIR):
		return CWDNotDir, "is not a folder"
	case errors.Is(err, fs.ErrPermission):
		return CWDMissing, "may not be looked at"
	}
	return CWDMissing, "cannot be looked at: " + err.Error()
}

// inside says whether path is dir or lies in it. Both must be absolute, and resolved where that matters.
func inside(dir, path string) bool {
	dir, path = filepath.Clean(dir), filepath.Clean(path)
	if dir == path {
		return true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}

// insideResolved is inside with the symlinks of path followed. What does not exist is judged by the folder that would
// hold it; a link that leads to nothing is outside, as nobody can tell where it will lead.
func insideResolved(root, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return inside(root, real)
	}
	if _, lerr := os.Lstat(path); lerr == nil || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	dir := dirOf(path)
	return dir != path && insideResolved(root, dir)
}

// dirOf is the folder part of an absolute path. Unlike filepath.Dir it does not take "link/.." for ".", which is not
// where the system goes.
func dirOf(path string) string {
	path = strings.TrimRight(path, string(filepath.Separator))
	if i := strings.LastIndexByte(path, filepath.Separator); i > 0 {
		return path[:i]
	}
	return string(filepath.Separator)
}

// absFrom is p as seen from dir, no more cleaned than dirOf.
func absFrom(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return dir + string(filepath.Separator) + p
}
