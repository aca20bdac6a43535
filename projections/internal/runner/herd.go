package runner

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"
)

// A herd is the processes of one run: each command leads a session and a process group of its own.
//
// A group is only ever signalled while its leader is not yet reaped, with mu held, so that its number cannot have gone
// to somebody else in the meantime.
type herd struct {
	spawn *spawner

	mu     sync.Mutex // guards below
	live   []int      // leaders, not reaped
	closed bool       // nothing may be started any more
}

var (
	errStopped     = errors.New("the run is being stopped")
	errTimeout     = errors.New("the time is up")
	errOutputLimit = errors.New("the output has no end")
)

func newHerd() *herd { return &herd{spawn: newSpawner()} }

// start starts the command of a stage.
func (h *herd) start(s *stage) (*os.Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errStopped
	}
	files := s.files[:]
	for len(files) > 0 && files[len(files)-1] == nil {
		files = files[:len(files)-1]
	}
	p, err := h.spawn.start(s.program.exec, s.argv, &os.ProcAttr{Dir: s.dir, Env: dedupEnv(s.env), Files: files})
	if err != nil {
		return nil, startProblem(s, err)
	}
	h.live = append(h.live, p.Pid)
	return p, nil
}

// wait waits for a process, then ends what is left of its group, also after a normal exit: what a command leaves
// behind would hold its output open, and go on after the verdict.
func (h *herd) wait(p *os.Process) (ending, error) {
	state, err := waitFor(p, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		killGroup(p.Pid)
		h.live = slices.DeleteFunc(h.live, func(pid int) bool { return pid == p.Pid })
	})
	if err != nil {
		return ending{}, err
	}
	return endingOf(state), nil
}

// stopped says whether the herd was ended before its plan was.
func (h *herd) stopped() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// kill ends everything that runs, and lets nothing more start.
func (h *herd) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, pid := range h.live {
		killGroup(pid)
	}
}

// terminate asks everything that runs to end, and lets nothing more start.
func (h *herd) terminate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, pid := range h.live {
		terminateGroup(pid)
	}
}

// watch ends the herd when ctx is done: at the deadline with a grace, else at once. The function it returns ends the
// watch, and waits for that.
func (h *herd) watch(ctx context.Context, grace time.Duration) (stop func()) {
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), errTimeout) {
			h.terminate()
			timer := time.NewTimer(grace)
			defer timer.Stop()
			select {
			case <-done:
			case <-timer.C:
			}
		}
		h.kill()
	})
	return func() {
		close(done)
		watcher.Wait()
	}
}

// close lets go of what the herd needed to start processes. None may be alive.
func (h *herd) close() { h.spawn.close() }

// dedupEnv keeps the last of each name, as programs differ in which one they would take.
func dedupEnv(env []string) []string {
	seen := make(map[string]int, len(env))
	var out []string
	for _, line := range env {
		name := envName(line)
		if i, ok := seen[name]; ok {
			out[i] = line
			continue
		}
		seen[name] = len(out)
		out = append(out, line)
	}
	return out
}

func envName(line string) string {
	for i := range len(line) {
		if line[i] == '=' && i > 0 {
			return line[:i]
		}
	}
	return line
}
