package badgerlog

import "golang.org/x/sys/unix"

// networkFS names the network file system that path is on, "" if it is on none.
func networkFS(path string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "", err
	}
	name := unix.ByteSliceToString(s.Fstypename[:])
	if s.Flags&unix.MNT_LOCAL != 0 || name == "macfuse" || name == "osxfuse" {
		return "", nil
	}
	return name, nil
}

// freeBytes returns how much an ordinary user can still write where path is.
func freeBytes(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
