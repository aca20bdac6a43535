package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	scanEvents = flag.Int("events", 1_000_000, "events in the stores that are scanned and opened")
	storesDir  = flag.String("stores", "", "folder to keep these stores in; a temporary one by default")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if child := os.Getenv(childVariable); child != "" {
		os.Exit(runChild(child))
	}
	code := m.Run()
	if full.temporary {
		_ = os.RemoveAll(*storesDir)
	}
	os.Exit(code)
}

// The stores keep what they are given: the figures of one that does not would say nothing.
func TestStores(t *testing.T) {
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			for round := range 2 {
				s, err := m.open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Append(newEvents(100*round, 100)); err != nil {
					t.Fatal(err)
				}
				if n, err := s.Scan(); err != nil || n != 100*(round+1) {
					t.Fatalf("%d events, %v", n, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend is one appender that waits for each batch.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 10, 100} {
		for _, m := range makers {
			b.Run(fmt.Sprintf("batch=%d/%s", batch, m.name), func(b *testing.B) {
				s := opened(b, m, b.TempDir())
				var took []time.Duration
				for n := 0; b.Loop(); n += batch {
					es := newEvents(n, batch)
					start := time.Now()
					if err := s.Append(es); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				report(b, took, sum(took), batch*len(took))
			})
		}
	}
}

const (
	appenders = 64
	perBurst  = 200
)

// BenchmarkConcurrent is many appenders of single events; each waits for its own. One iteration is a burst of them all.
func BenchmarkConcurrent(b *testing.B) {
	for _, m := range makers {
		b.Run(fmt.Sprintf("appenders=%d/%s", appenders, m.name), func(b *testing.B) {
			s := opened(b, m, b.TempDir())
			if bolt, ok := s.(*boltStore); ok {
				bolt.commit = bolt.db.Batch
			}
			var took []time.Duration
			var all time.Duration
			for n := 0; b.Loop(); n += appenders * perBurst {
				es := newEvents(n, appenders*perBurst)
				start := time.Now()
				took = append(took, burst(b, s, es)...)
				all += time.Since(start)
			}
			report(b, took, all, len(took))
		})
	}
}

// burst appends es from all appenders and returns how long each append took.
func burst(b *testing.B, s store, es []event) []time.Duration {
	took := make([]time.Duration, len(es))
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for i := a; i < len(es); i += appenders {
				start := time.Now()
				if err := s.Append(es[i : i+1]); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	return took
}

// BenchmarkScan reads a full store from beginning to end. Of the log, raw is number and hash of every event and no
// decoding; log is every check; payloads is that and the payloads decoded.
func BenchmarkScan(b *testing.B) {
	scan := func(m maker, name string, f func(store) (int, error)) {
		b.Run(name, func(b *testing.B) {
			s := opened(b, m, fullStore(b, m))
			events := 0
			start := time.Now()
			for b.Loop() {
				n, err := f(s)
				if err != nil || n != *scanEvents {
					b.Fatal(n, err)
				}
				events += n
			}
			all := time.Since(start)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(events)/all.Seconds(), "ev/s")
			b.ReportMetric(float64(all.Nanoseconds())/float64(events), "ns/ev")
		})
	}
	for _, m := range makers {
		scan(m, m.name, store.Scan)
		if m.name == "log" {
			scan(m, "log-raw", func(s store) (int, error) { return s.(*logStore).scanRaw() })
			scan(m, "log-payloads", func(s store) (int, error) { return s.(*logStore).scanPayloads() })
		}
	}
}

// BenchmarkOpen opens a full store that was closed cleanly.
func BenchmarkOpen(b *testing.B) {
	for _, m := range makers {
		b.Run(m.name, func(b *testing.B) {
			dir := fullStore(b, m)
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				s, err := m.open(dir)
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(quantile(took, 0.5).Microseconds())/1e3*1e6/float64(*scanEvents), "ms/1M")
		})
	}
}

func opened(b *testing.B, m maker, dir string) store {
	s, err := m.open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

var full struct{ temporary bool } // whether storesDir was made here

// fullStore returns the folder of a store with scanEvents events, and makes it when it is not there.
func fullStore(b *testing.B, m maker) string {
	b.Helper()
	if *storesDir == "" {
		dir, err := os.MkdirTemp("", "dkgraph-bench-")
		if err != nil {
			b.Fatal(err)
		}
		*storesDir, full.temporary = dir, true
	}
	dir := filepath.Join(*storesDir, m.name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := fill(m, dir+".part", *scanEvents); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(dir+".part", dir); err != nil {
		b.Fatal(err)
	}
	return dir
}

func fill(m maker, dir string, count int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s, err := m.open(dir)
	if err != nil {
		return err
	}
	for n := 0; n < count; n += 1000 {
		if err := s.Append(newEvents(n, min(1000, count-n))); err != nil {
			return err
		}
	}
	return s.Close()
}

// report says how long appends took and how many events were made durable in all the time they took.
func report(b *testing.B, took []time.Duration, all time.Duration, events int) {
	b.ReportMetric(0, "ns/op") // it has the making of the events in it
	b.ReportMetric(float64(quantile(took, 0.50).Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(quantile(took, 0.99).Nanoseconds())/1e3, "p99-µs")
	b.ReportMetric(float64(events)/all.Seconds(), "ev/s")
}

func quantile(took []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[int(q*float64(len(sorted)-1))]
}

func sum(took []time.Duration) (all time.Duration) {
	for _, d := range took {
		all += d
	}
	return all
}
