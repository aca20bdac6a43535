//go:build linux || darwin

package runner

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	supported  = true
	openNoWait = unix.O_NONBLOCK
)

func killGroup(pid int)      { _ = unix.Kill(-pid, unix.SIGKILL) }
func terminateGroup(pid int) { _ = unix.Kill(-pid, unix.SIGTERM) }

// endingOf reads the end of a process the way a shell does: 128 and the signal's number when a signal ended it.
func endingOf(state *os.ProcessState) ending {
	e := ending{status: state.ExitCode(), usage: usage{user: state.UserTime(), system: state.SystemTime()}}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.status = 128 + int(ws.Signal())
		e.signal = unix.SignalName(ws.Signal())
	}
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		e.usage.maxRSSKB = int64(ru.Maxrss) / rssPerKB
	}
	return e
}

func worldWritable(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// mayExecute asks the system, which knows this user's groups and the file's access list.
func mayExecute(path string, info fs.FileInfo) bool {
	return info.Mode().Perm()&0o111 != 0 && unix.Access(path, unix.X_OK) == nil
}

// A fileID names the content of a file: no program can write a file without changing its ctime.
type fileID struct {
	dev, ino     uint64
	size         int64
	mtime, ctime time.Time
}

func idOf(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{
		dev: uint64(st.Dev), ino: st.Ino, size: info.Size(), mtime: info.ModTime().Round(0), ctime: ctimeOf(st),
	}, true
}
