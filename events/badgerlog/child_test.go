package badgerlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// The tests run the test binary again as a child, because some faults end the process, and a test wants to see that.
const childEnv = "BADGERLOG_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := child(strings.Split(args, "|")); err != nil {
			fmt.Println("error", strconv.Quote(err.Error()))
		}
		fmt.Println("done")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(args []string) error {
	switch dir := args[1]; args[0] {
	case "read":
		return readAll(dir, Options{})
	case "accept":
		return readAll(dir, Options{AcceptEnd: true})
	case "build":
		return buildAndDie(dir)
	case "fill":
		return fill(dir)
	case "append":
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return err
		}
		return appendForEver(dir, seed)
	}
	return errors.New("no such child")
}

// command prepares a child.
func command(t testing.TB, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	// Under the race detector a process sleeps for a second before it exits, unless told not to.
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, "|"), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// small makes stores that have several tables and WALs after some thousand events.
func small() tuning {
	t := defaultTuning()
	t.memTable, t.valueThreshold = 1<<20, 64<<10
	return t
}

func key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func openLog(dir string, opts Options, tune tuning) (*events.Log, error) {
	b, err := open(dir, opts, tune)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	var log *events.Log
	if end, _ := b.End(ctx); end == 0 {
		log, err = events.Create(ctx, b, "dkgraph/test", key().Public().(ed25519.PublicKey), events.Options{})
	} else {
		log, err = events.Open(ctx, b, events.Options{})
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return log, nil
}

// drafts makes n drafts of about 300 bytes of text that does not compress well.
func drafts(from, n int) []events.Draft {
	ds := make([]events.Draft, n)
	for i := range ds {
		r := rand.New(rand.NewPCG(1, uint64(from+i)))
		text := fmt.Sprintf("event %d %x %x %x %x", from+i, r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
		d, err := events.ClaimMade(events.Claim{ClaimID: fmt.Sprintf("t%d", from+i), Text: text, Kind: "test", Verify: "go test ./..."},
			events.Seen{Agent: "claude", Turn: fmt.Sprintf("m%d", from+i), Session: "s1"})
		if err != nil {
			panic(err)
		}
		ds[i] = d
	}
	return ds
}

// printAll prints the events that were acknowledged, one on a line.
func printAll(recs []events.Record) {
	var out bytes.Buffer
	for _, r := range recs {
		fmt.Fprintf(&out, "event %d %s\n", r.Seq(), r.Hash())
	}
	os.Stdout.Write(out.Bytes())
}

func readAll(dir string, opts Options) error {
	log, err := openLog(dir, opts, small())
	if err != nil {
		return err
	}
	var recs []events.Record
	for rec, err := range log.Read(context.Background(), 1) {
		if err != nil {
			return errors.Join(err, log.Close())
		}
		recs = append(recs, rec)
	}
	printAll(recs)
	for i := 0; i < len(recs); i += 17 {
		r := recs[i]
		if found, err := log.Find(context.Background(), r.Origin()); err != nil || found.Seq() != r.Seq() {
			return errors.Join(fmt.Errorf("event %d is not found by its origin: %w", r.Seq(), err), log.Close())
		}
	}
	// What is whole must also take more.
	if _, _, err := log.Append(context.Background(), drafts(1_000_000, 1)...); err != nil {
		return errors.Join(err, log.Close())
	}
	return log.Close()
}

// buildAndDie makes a store in which flushing got stuck, so that two WALs hold what no table does, and kills itself.
func buildAndDie(dir string) error {
	tune := small()
	tune.badger = func(o badger.Options) badger.Options {
		return o.WithNumCompactors(0).WithNumLevelZeroTables(3).WithNumLevelZeroTablesStall(4)
	}
	log, err := openLog(dir, Options{}, tune)
	if err != nil {
		return err
	}
	for n, rest := 0, 8; rest > 0; n += 25 {
		recs, _, err := log.Append(context.Background(), drafts(n, 25)...)
		if err != nil {
			return err
		}
		printAll(recs)
		l, err := list(dir)
		if err != nil {
			return err
		}
		if len(l.tables) >= 4 && len(l.wals) >= 3 {
			rest--
		}
	}
	return killSelf()
}

func killSelf() error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	select {}
}

// fill appends until something stops it.
func fill(dir string) error {
	log, err := openLog(dir, Options{}, small())
	if err != nil {
		return err
	}
	for n := 0; ; n += 20 {
		recs, _, err := log.Append(context.Background(), drafts(n, 20)...)
		if err != nil {
			return errors.Join(err, log.Close())
		}
		printAll(recs)
	}
}

// appendForEver appends single events and batches until it is killed.
func appendForEver(dir string, seed uint64) error {
	log, err := openLog(dir, Options{}, small())
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for n := int(log.Head().Seq); ; {
		size := 1
		if r.IntN(3) == 0 {
			size = 1 + r.IntN(80)
		}
		recs, _, err := log.Append(context.Background(), drafts(n, size)...)
		if err != nil {
			return err
		}
		printAll(recs)
		n += size
	}
}

// An outcome is what a child said.
type outcome struct {
	events  []string // "seq hash"
	err     string
	done    bool // it came to its end: it neither crashed nor was killed
	crash   string
	elapsed time.Duration
}

func run(t testing.TB, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	o := parse(&stdout)
	o.elapsed = time.Since(start)
	if !o.done {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		o.crash = fmt.Sprintf("%v: %s", err, first)
	}
	return o
}

func parse(out *bytes.Buffer) outcome {
	var o outcome
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "event":
			if len(strings.Fields(rest)) == 2 && len(rest) > 65 { // a kill may cut the last line
				o.events = append(o.events, rest)
			}
		case "error":
			o.err, _ = strconv.Unquote(rest)
		case "done":
			o.done = true
		}
	}
	return o
}
