package badgerlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// rounds is how often a test kills its child: some in a normal run, hundreds in the nightly one.
func rounds(normal int) int {
	switch {
	case os.Getenv("NIGHTLY") != "":
		return 20 * normal
	case testing.Short():
		return normal / 5
	}
	return normal
}

// A lineCounter keeps what a child writes and closes reached when there are n lines.
type lineCounter struct {
	buf     bytes.Buffer // owned by the child's pipe until Wait returns
	n       int
	reached chan struct{}
}

func (c *lineCounter) Write(p []byte) (int, error) {
	before := c.n
	c.n -= bytes.Count(p, []byte("\n"))
	if before > 0 && c.n <= 0 {
		close(c.reached)
	}
	return c.buf.Write(p)
}

// TestKilled kills a process that appends, again and again on the same store, at a random number of acknowledged events.
// What was acknowledged is there with its hash, what is there is a log without a gap, and it goes on.
func TestKilled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var dir string
	var acked []string
	for round := range rounds(30) {
		if round%40 == 0 { // reading it all each time would take ever longer
			dir, acked = filepath.Join(t.TempDir(), "log"), nil
		}
		out := &lineCounter{n: 1 + r.IntN(700), reached: make(chan struct{})}
		if r.IntN(5) == 0 {
			out.n = 1 // close to the opening
		}
		cmd := command(t, "append", dir, fmt.Sprint(seed+uint64(round)))
		cmd.Stdout = out
		require.NoError(t, cmd.Start())
		<-out.reached
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		o := parse(&out.buf)
		require.Empty(t, o.err)
		acked = append(acked, o.events...)
		acked = recovered(t, dir, acked)
	}
	t.Logf("%d kills, %d events in the last store", rounds(30), len(acked))
}

// recovered opens the store and returns what is in it, which must be what was acknowledged and
// perhaps more. acked lacks what a kill kept from being printed: those events are in the log all the same.
func recovered(t *testing.T, dir string, acked []string) []string {
	log, err := openLog(dir, Options{}, small())
	require.NoError(t, err)
	var found []string
	have := make(map[string]bool)
	prev := events.Hash{}
	for rec, err := range log.Read(t.Context(), 1) {
		require.NoError(t, err)
		require.EqualValues(t, len(found)+1, rec.Seq())
		require.Equal(t, prev, rec.Prev())
		require.Equal(t, rec.Hash(), events.LeafHash(rec.Line()))
		prev = rec.Hash()
		line := fmt.Sprintf("%d %s", rec.Seq(), rec.Hash())
		found = append(found, line)
		have[line] = true
	}
	for _, line := range acked {
		require.Truef(t, have[line], "event %s was acknowledged and is not there", line)
	}
	n := len(found)
	_, added, err := log.Append(t.Context(), drafts(10_000_000+n, 1)...)
	require.NoError(t, err)
	require.Equal(t, 1, added)
	require.NoError(t, log.Close())
	return found
}

// TestKilledWhileOpening kills a process while it opens a store that was itself killed, wherever it is then.
func TestKilledWhileOpening(t *testing.T) {
	img := crashed(t)
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range rounds(5) {
		work := img.copy(t)
		for range 3 {
			cmd := command(t, "read", work.dir)
			require.NoError(t, cmd.Start())
			spin(r.IntN(40)) // ends at some point of the opening
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		}
		o := run(t, "read", work.dir)
		require.Empty(t, o.err)
		require.Empty(t, o.crash)
		require.Equal(t, img.acked, o.events[1:1+len(img.acked)])
	}
}

// TestKilledAtBirth kills a process before a store that it makes is one.
func TestKilledAtBirth(t *testing.T) {
	for n := range rounds(10) {
		dir := filepath.Join(t.TempDir(), "log")
		cmd := command(t, "append", dir, "1")
		require.NoError(t, cmd.Start())
		spin(n % 20)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		log, err := openLog(dir, Options{}, small())
		require.NoError(t, err)
		require.NoError(t, log.Close())
	}
}

// spin passes the time that some hashing takes, so that kills fall in different places without a clock in the test.
func spin(n int) {
	block := make([]byte, 1<<20)
	for range n {
		events.Sum(block)
	}
}
