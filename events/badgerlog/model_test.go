package badgerlog

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dalkkak/dkgraph/events"
)

// A model is what a log is: a list of origins in order.
type model struct {
	t       *rapid.T
	dir     string
	log     *events.Log
	refs    []events.Ref
	byDraft map[int]events.Ref
}

func (m *model) open() {
	log, err := openLog(m.dir, Options{}, small())
	require.NoError(m.t, err)
	m.log = log
}

// append appends drafts by number and brings the model up to date.
func (m *model) append(at *uint64, numbers []int) {
	var ds []events.Draft
	fresh := make(map[int]bool)
	for _, n := range numbers {
		ds = append(ds, drafts(n, 1)...)
		if _, ok := m.byDraft[n]; !ok {
			fresh[n] = true
		}
	}
	var recs []events.Record
	var added int
	var err error
	if at != nil {
		recs, added, err = m.log.AppendAt(context.Background(), *at, ds...)
	} else {
		recs, added, err = m.log.Append(context.Background(), ds...)
	}
	if at != nil && *at != uint64(len(m.refs)) {
		require.ErrorIs(m.t, err, events.ErrConflict)
		return
	}
	require.NoError(m.t, err)
	require.Equal(m.t, len(fresh), added)
	for i, n := range numbers {
		if ref, ok := m.byDraft[n]; ok {
			require.Equal(m.t, ref, recs[i].Ref())
			continue
		}
		require.EqualValues(m.t, len(m.refs)+1, recs[i].Seq())
		m.byDraft[n] = recs[i].Ref()
		m.refs = append(m.refs, recs[i].Ref())
	}
}

func (m *model) check() {
	end := uint64(0)
	if n := len(m.refs); n > 0 {
		end = m.refs[n-1].Seq
	}
	require.Equal(m.t, end, m.log.Head().Seq)
	i := 0
	for rec, err := range m.log.Read(context.Background(), 1) {
		require.NoError(m.t, err)
		require.Equal(m.t, m.refs[i], rec.Ref())
		i++
	}
	require.Len(m.t, m.refs, i)
}

// TestModel plays any history on a store and on a list, and they must agree.
func TestModel(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue && os.Getenv("NIGHTLY") == "" {
		require.NoError(t, f.Value.Set("8")) // each history syncs some hundred times
	}
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "m")
		require.NoError(t, err)
		m := &model{t: t, dir: fmt.Sprint(dir, "/log"), byDraft: make(map[int]events.Ref)}
		m.open()
		genesis, err := m.log.Get(context.Background(), 1)
		require.NoError(t, err)
		m.refs = append(m.refs, genesis.Ref())
		numbers := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 60)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) { m.append(nil, []int{rapid.IntRange(0, 400).Draw(t, "n")}) },
			"batch":  func(t *rapid.T) { m.append(nil, numbers.Draw(t, "numbers")) },
			"append at": func(t *rapid.T) {
				at := uint64(rapid.IntRange(max(0, len(m.refs)-2), len(m.refs)+1).Draw(t, "at"))
				m.append(&at, []int{rapid.IntRange(0, 400).Draw(t, "n")})
			},
			"cancelled": func(t *rapid.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, _, err := m.log.Append(ctx, drafts(100_000, 3)...)
				require.ErrorIs(t, err, context.Canceled)
			},
			"reopen": func(*rapid.T) {
				require.NoError(m.t, m.log.Close())
				m.open()
			},
			"crash": func(*rapid.T) { m.crash() },
			"":      func(*rapid.T) { m.check() },
		})
		require.NoError(t, m.log.Close())
		require.NoError(t, os.RemoveAll(dir))
	})
}

// crash goes on with a copy of the files as they are at one moment, which is what a killed process leaves.
func (m *model) crash() {
	next := m.dir + "x"
	for before := ""; ; {
		require.NoError(m.t, os.RemoveAll(next))
		if err := os.CopyFS(next, os.DirFS(m.dir)); err != nil {
			continue // a file went away meanwhile
		}
		now := m.names()
		if now == before { // nothing was flushed while it was copied
			break
		}
		before = now
	}
	require.NoError(m.t, copyFile(headPath(m.dir), headPath(next)))
	require.NoError(m.t, m.log.Close())
	m.dir = next
	m.open()
}

func (m *model) names() string {
	var s strings.Builder
	files, err := os.ReadDir(m.dir)
	require.NoError(m.t, err)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			fmt.Fprintln(&s, f.Name(), info.Size())
		}
	}
	return s.String()
}
