package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// childVariable tells a process that it is the one that is measured: "<append or scan> <MiB> <folder>".
const childVariable = "DKGRAPH_BENCH_CHILD"

// memoryEvents is how many events a child appends, from all appenders in batches of memoryBatch.
const (
	memoryEvents = 500_000
	memoryBatch  = 100
)

// BenchmarkMemory is the resident memory of a process that does nothing but append to the log, or scan a full one, under
// the limit that cmd/dk sets for itself and under a smaller one. rss is the most that was seen, with the files that are
// mapped; anon is what of it is the process's own and cannot be dropped.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc/self/status")
	}
	for _, load := range []string{"append", "scan"} {
		for _, limit := range []int{96, 64} {
			b.Run(fmt.Sprintf("%s/limit=%d", load, limit), func(b *testing.B) {
				dir := b.TempDir()
				if load == "scan" {
					dir = fullStore(b, makers[1])
				}
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childVariable, load, limit, dir))
				c.Stderr = os.Stderr
				var rss, anon, rate float64
				for range b.N {
					out, err := c.Output()
					if err == nil {
						_, err = fmt.Fscan(bytes.NewReader(out), &rss, &anon, &rate)
					}
					if err != nil {
						b.Fatal(err)
					}
					c = &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Stderr: c.Stderr}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(rss, "rss-MB")
				b.ReportMetric(anon, "anon-MB")
				b.ReportMetric(rate, "ev/s")
			})
		}
	}
}

// runChild is the measured process. It prints the most memory it had resident, and the events per second.
func runChild(what string) int {
	var load, dir string
	var limit int64
	if _, err := fmt.Sscan(what, &load, &limit, &dir); err != nil {
		return childFailed(err)
	}
	debug.SetMemoryLimit(limit << 20)
	s, err := openLog(dir)
	if err != nil {
		return childFailed(err)
	}
	w := watchMemory()
	start := time.Now()
	n := memoryEvents
	if load == "scan" {
		n, err = s.Scan()
	} else {
		err = appendAll(s, n)
	}
	took := time.Since(start)
	rss, anon := w.most()
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return childFailed(err)
	}
	fmt.Printf("%.1f %.1f %.0f\n", rss, anon, float64(n)/took.Seconds())
	return 0
}

func childFailed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// appendAll appends n events from all appenders at once.
func appendAll(s store, n int) error {
	var wg sync.WaitGroup
	errs := make(chan error, appenders)
	share := n / appenders / memoryBatch * memoryBatch
	for a := range appenders {
		wg.Go(func() {
			for i := a * share; i < (a+1)*share; i += memoryBatch {
				if err := s.Append(newEvents(i, memoryBatch)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// A memoryWatch looks at the process's memory again and again.
type memoryWatch struct {
	stop, done chan struct{}

	rss, anon float64 // owned by its goroutine until done
}

func watchMemory() *memoryWatch {
	w := &memoryWatch{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			w.rss, w.anon = max(w.rss, status("VmRSS:")), max(w.anon, status("RssAnon:"))
			select {
			case <-tick.C:
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

func (w *memoryWatch) most() (rss, anon float64) {
	close(w.stop)
	<-w.done
	return w.rss, w.anon
}

// status returns a line of /proc/self/status in MB.
func status(name string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0
	}
	return kb * 1024 / 1e6
}
