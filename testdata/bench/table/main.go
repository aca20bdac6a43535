// Command table runs the benchmarks of package bench in interleaved rounds and prints them side by side.
//
//	go run ./table [-rounds 15] [-events 1000000] [-benchtime 150ms]
//
// Each round runs every store once, one after the other, so that what else the machine does falls on all of them: many
// short rounds tell more than few long ones. A figure is the median over the rounds; a ratio is the median over the rounds of the ratio to the plain file in the same
// round. On a shared machine ratios can be compared with those of another day, and figures cannot.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	rounds := flag.Int("rounds", 15, "rounds; scans, opens and memory are in every fifth one")
	count := flag.Int("events", 1_000_000, "events in the stores that are scanned and opened; 0 leaves out all but appends")
	benchtime := flag.String("benchtime", "150ms", "time for each store in each round")
	flag.Parse()
	if err := run(*rounds, *count, *benchtime); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds, count int, benchtime string) error {
	dir, err := os.MkdirTemp("", "dkgraph-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "bench.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "github.com/dalkkak/dkgraph/testdata/bench")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	t := table{}
	bench := func(what, benchtime string) error {
		c := exec.Command(binary, "-test.run=^$", "-test.bench="+what, "-test.benchtime="+benchtime, "-test.timeout=30m",
			"-events="+strconv.Itoa(count), "-stores="+dir)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		t.read(out)
		return nil
	}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		err := bench("Append|Concurrent", benchtime)
		if err == nil && round%5 == 0 && count > 0 {
			err = bench("Scan|Open|Memory", "1x")
		}
		if err != nil {
			return err
		}
	}
	t.print()
	return nil
}

// A table holds the values of every round: those of a benchmark, "Append/batch=1/log", by unit.
type table map[string]map[string][]float64

var resultLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// read takes up the output of one round.
func (t table) read(out []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := resultLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		units := t[m[1]]
		if units == nil {
			units = map[string][]float64{}
			t[m[1]] = units
		}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				units[fields[i+1]] = append(units[fields[i+1]], v)
			}
		}
	}
}

// median returns the median of a figure over the rounds.
func (t table) median(name, unit string) float64 { return median(t[name][unit]) }

// ratio returns the median over the rounds of a figure divided by the file's.
func (t table) ratio(group, name, unit string) float64 {
	of, to := t[group+"/"+name][unit], t[group+"/file"][unit]
	ratios := make([]float64, min(len(of), len(to)))
	for i := range ratios {
		ratios[i] = of[i] / to[i]
	}
	return median(ratios)
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	return (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
}

var stores = []string{"file", "log", "bbolt", "sqlite"}

func (t table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	appends := []string{"Append/batch=1", "Append/batch=10", "Append/batch=100", "Concurrent/appenders=64"}
	fmt.Fprintln(w, "append, 300-byte events\tstore\tp50 µs\tp99 µs\tevents/s\tp50 ÷ file\tevents/s ÷ file")
	for _, group := range appends {
		for _, s := range stores {
			name := group + "/" + s
			fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\n", group, s, t.median(name, "p50-µs"), t.median(name, "p99-µs"),
				t.median(name, "ev/s"), t.ratio(group, s, "p50-µs"), t.ratio(group, s, "ev/s"))
		}
	}
	if len(t["Scan/file"]) > 0 {
		t.printRest(w)
	}
	_ = w.Flush()
	t.goals()
}

func (t table) printRest(w io.Writer) {
	fmt.Fprintln(w, "\t\t\t\t\t\t\nscan\tstore\tns/event\t\tevents/s\t\tevents/s ÷ file")
	for _, s := range []string{"file", "log-raw", "log", "log-payloads", "bbolt", "sqlite"} {
		fmt.Fprintf(w, "Scan\t%s\t%.0f\t\t%.0f\t\t%.2f\n", s, t.median("Scan/"+s, "ns/ev"), t.median("Scan/"+s, "ev/s"), t.ratio("Scan", s, "ev/s"))
	}
	fmt.Fprintln(w, "\t\t\t\t\t\t\nopen\tstore\tms per million events\t\t\t\t")
	for _, s := range stores {
		fmt.Fprintf(w, "Open\t%s\t%.1f\t\t\t\t\n", s, t.median("Open/"+s, "ms/1M"))
	}
	fmt.Fprintln(w, "\t\t\t\t\t\t\nmemory of the log\tlimit MiB\tmost RSS MB\tof it anonymous\tevents/s\t\t")
	for _, load := range []string{"append", "scan"} {
		for _, limit := range []string{"96", "64"} {
			name := "Memory/" + load + "/limit=" + limit
			fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.0f\t\t\n", load, limit, t.median(name, "rss-MB"), t.median(name, "anon-MB"), t.median(name, "ev/s"))
		}
	}
}

// goals prints what the log is meant to reach, and whether it does.
func (t table) goals() {
	fmt.Println("\ngoals")
	goal := func(what string, have, want float64, most bool, unit string) {
		word, bound := "missed ", "at least"
		if most {
			bound = "at most"
		}
		if have > 0 && (have <= want) == most || have == want {
			word = "reached"
		}
		fmt.Printf("%s  %s: %.4g%s, %s %.4g\n", word, what, have, unit, bound, want)
	}
	goal("append, p50 at batch 1 ÷ file", t.ratio("Append/batch=1", "log", "p50-µs"), 1.3, true, "")
	goal("append, p50 at batch 100 ÷ file", t.ratio("Append/batch=100", "log", "p50-µs"), 2, true, "")
	// The figure is of a machine where the file does 190,000 in batches of 100; on another it is that share.
	concurrent := make([]float64, 0)
	for i, of := range t["Concurrent/appenders=64/log"]["ev/s"] {
		concurrent = append(concurrent, of/t["Append/batch=100/file"]["ev/s"][i])
	}
	goal("64 appenders, events/s ÷ file at batch 100", median(concurrent), 60.0/190, false, "")
	if len(t["Scan/file"]) == 0 {
		return
	}
	goal("scan with every hash checked", t.median("Scan/log-raw", "ev/s"), 1e6, false, " events/s")
	fmt.Printf("         decoding and checking chain and seals costs %.0f ns an event more, payloads %.0f more\n",
		t.median("Scan/log", "ns/ev")-t.median("Scan/log-raw", "ns/ev"),
		t.median("Scan/log-payloads", "ns/ev")-t.median("Scan/log", "ns/ev"))
	goal("open, ms per million events", t.median("Open/log", "ms/1M"), 100, true, "")
	goal("memory while appending, limit 96 MiB", t.median("Memory/append/limit=96", "rss-MB"), 120, true, " MB")
	goal("memory while appending, limit 64 MiB", t.median("Memory/append/limit=64", "rss-MB"), 120, true, " MB")
}
