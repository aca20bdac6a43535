package runner

import (
	"os"
	"syscall"
	"time"
)

const rssPerKB = 1024

func noneDegraded() []string {
	return []string{
		"files: not contained, it could write wherever this user may",
		"network: not contained",
		"processes: one that starts a session of its own outlives the run, and all do when this process is killed",
		"credentials: files of this user are readable",
	}
}

func ctimeOf(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }

// A spawner starts processes.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	return os.StartProcess(path, argv, attr)
}

func (*spawner) close() {}

func (*spawner) degraded() []string { return []string{"umask: that of this process"} }

// waitFor waits for a child to end, reaps it, and calls ended. Its number is free by then: the group that ended signals
// is this child's or nobody's, but for a number used again within microseconds.
func waitFor(p *os.Process, ended func()) (*os.ProcessState, error) {
	state, err := p.Wait()
	ended()
	return state, err
}
