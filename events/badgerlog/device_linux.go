package badgerlog

import "golang.org/x/sys/unix"

// networkFS names the network file system that path is on, "" if it is on none. FUSE is allowed: it cannot be told
// whether a network is behind it. 9p is not: it is how WSL shows Windows drives and how virtual machines share folders,
// and neither keeps a mapped file and a lock together over a crash of the host's side.
func networkFS(path string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "", err
	}
	return map[uint32]string{
		unix.NFS_SUPER_MAGIC:  "NFS",
		unix.SMB_SUPER_MAGIC:  "SMB",
		unix.CIFS_SUPER_MAGIC: "CIFS",
		unix.SMB2_SUPER_MAGIC: "SMB",
		unix.V9FS_MAGIC:       "9p",
		unix.AFS_SUPER_MAGIC:  "AFS",
		unix.AFS_FS_MAGIC:     "AFS",
		unix.CODA_SUPER_MAGIC: "Coda",
		unix.CEPH_SUPER_MAGIC: "Ceph",
		0x564c:                "NCP",
	}[uint32(s.Type)], nil
}

// freeBytes returns how much an ordinary user can still write where path is.
func freeBytes(path string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
