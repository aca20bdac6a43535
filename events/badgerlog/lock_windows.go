package badgerlog

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes f for this process until f is closed, or returns ErrInUse. The locked byte lies far behind the slots,
// because a lock on Windows also keeps others from reading what it covers.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{Offset: 1 << 30}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return err
}

// syncDir does nothing: Windows has no such call, NTFS journals the names.
func syncDir(string) error { return nil }
