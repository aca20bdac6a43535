//go:build unix && !solaris && !aix

package badgerlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes f for this process until f is closed, or returns ErrInUse.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
