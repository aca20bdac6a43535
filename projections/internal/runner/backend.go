package runner

import (
	"context"
	"os"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// A backend carries out plans. It is what stands between a plan and the machine: one that contains processes starts
// itself again in new namespaces, with the task as JSON and the outputs as descriptors, and calls the executor there.
type backend interface {
	// sandbox says what the backend contains, and what it does not.
	sandbox() events.Sandbox
	// run returns when the plan is done and every process it can end has ended, also when ctx is done before.
	run(ctx context.Context, t task, out outputs) (report, error)
}

// A task is all that a backend needs to know to carry out a plan.
type task struct {
	Plan    *shell.Plan
	CWD     string   // resolved
	Root    string   // resolved
	Env     []string // NAME=VALUE
	Path    []string // pinned
	Dropped []string // what was left out of PATH, for people
	Tools   []string // folders, besides the system's, whose programs may be named by absolute path
	Hashes  *Hashes  `json:"-"`
	Timing  timing
}

// outputs are the write ends of what the capture reads. The caller owns them.
type outputs struct {
	stdout, stderr *os.File
	// checked gets a copy of what the checked commands write, where the plan filters that away from stdout; else nil.
	checked *os.File
}

func (o *outputs) close() {
	for _, f := range []*os.File{o.stdout, o.stderr, o.checked} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// A report is what a backend says of a task.
type report struct {
	Stages  []events.Stage
	Results []int // status of each exec in the order of the plan; notRun when it was not reached
	Status  int   // of the whole plan
	Problem string
	Detail  string
	// Degraded is what could not be had in this run, beyond what the backend never gives.
	Degraded []string

	UserMS, SystemMS, MaxRSSKB int64
}

// notRun stands in Results for an exec that was never reached.
const notRun = -1

// none runs commands as ordinary processes of this user.
type none struct{}

func (none) sandbox() events.Sandbox {
	return events.Sandbox{Backend: "none", Degraded: noneDegraded()}
}

func (none) run(ctx context.Context, t task, out outputs) (report, error) {
	return execute(ctx, t, out)
}
