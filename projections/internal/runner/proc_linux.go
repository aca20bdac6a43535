package runner

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const rssPerKB = 1

func noneDegraded() []string {
	return []string{
		"files: not contained, it could write wherever this user may",
		"network: not contained",
		"processes: one that starts a session of its own outlives the run",
		"credentials: files of this user are readable",
	}
}

func ctimeOf(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }

// A spawner starts processes from an operating system thread of its own. That thread can have a umask, which is
// otherwise that of the whole process, and when this process is killed, its children are, too: the kernel ties
// PDEATHSIG to the thread that forked, so it has to live as long as they do.
type spawner struct {
	requests chan spawnRequest
	done     chan struct{}

	umask bool // the thread has one of its own; written before done is closed
}

type spawnRequest struct {
	path  string
	argv  []string
	attr  *os.ProcAttr
	reply chan<- spawned
}

type spawned struct {
	process *os.Process
	err     error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), done: make(chan struct{})}
	go s.serve()
	return s
}

// serve never unlocks its thread, so the thread ends with it and its umask is nobody else's.
func (s *spawner) serve() {
	defer close(s.done)
	runtime.LockOSThread()
	if s.umask = unix.Unshare(unix.CLONE_FS) == nil; s.umask { // some containers forbid it
		unix.Umask(0o022)
	}
	for r := range s.requests {
		p, err := os.StartProcess(r.path, r.argv, r.attr)
		if err == nil {
			// No core files: they would be written into the working folder.
			_ = unix.Prlimit(p.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
		}
		r.reply <- spawned{p, err}
	}
}

func (s *spawner) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	reply := make(chan spawned, 1)
	s.requests <- spawnRequest{path, argv, attr, reply}
	r := <-reply
	return r.process, r.err
}

func (s *spawner) close() {
	close(s.requests)
	<-s.done
}

// degraded says what the spawner could not do. It is asked after close.
func (s *spawner) degraded() []string {
	if s.umask {
		return nil
	}
	return []string{"umask: that of this process"}
}

// waitFor waits for a child to end, calls ended while its number is still taken, and then reaps it.
func waitFor(p *os.Process, ended func()) (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	ended()
	return p.Wait()
}
