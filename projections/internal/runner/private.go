package runner

import (
	"io/fs"
	"os"
	"path/filepath"
)

// newPrivate makes the folder of one run, with its HOME and TMPDIR. The name is short: sockets in it must fit into the
// 108 bytes that an address may have.
func newPrivate(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "dk-")
	if err != nil {
		return "", err
	}
	// Links resolved, so that what a command prints of its folders is what it was given (macOS has /tmp behind a link).
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	telemetry := filepath.Join(dir, "home", ".config", "go", "telemetry")
	for _, d := range []string{filepath.Join(dir, "tmp"), telemetry} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			removePrivate(dir)
			return "", err
		}
	}
	// In a HOME it does not know, go would start a process of its own to collect and upload counters.
	if err := os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off\n"), 0o600); err != nil {
		removePrivate(dir)
		return "", err
	}
	return dir, nil
}

// removePrivate removes the folder of a run. Some tools make what they write read-only, so that is undone first where
// it is in the way. What cannot be removed stays: it is in a temporary folder and harms no verdict.
func removePrivate(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
