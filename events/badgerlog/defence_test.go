package badgerlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// entries makes n entries whose keys differ from those of other ids.
func entries(id string, n int) []events.Entry {
	es := make([]events.Entry, n)
	for i := range es {
		data := fmt.Appendf(nil, "%032d entry %s %d", i, id, i)
		es[i] = events.Entry{Key: events.Sum(data), Data: data}
	}
	return es
}

func openSmall(t *testing.T, dir string, change func(*tuning)) *Backend {
	tune := small()
	if change != nil {
		change(&tune)
	}
	b, err := open(dir, Options{}, tune)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func count(t *testing.T, b *Backend) int {
	n := 0
	for e, err := range b.Read(t.Context(), 1) {
		require.NoError(t, err)
		n++
		require.EqualValues(t, n, e.Pos)
	}
	return n
}

// A commit that fails is resolved by opening the database again and looking.
func TestFailedCommitIsResolved(t *testing.T) {
	broken := errors.New("device on fire")
	partly := func(txn *badger.Txn) error { // as if half of a batch had been kept
		txn.Delete(entryKey(3))
		return errors.Join(txn.Commit(), broken)
	}
	for _, c := range []struct {
		name   string
		commit func(*badger.Txn) error
		want   error // nil: the batch counts as appended
		end    int
	}{
		{"kept", func(txn *badger.Txn) error { return errors.Join(txn.Commit(), broken) }, nil, 4},
		{"not kept", func(*badger.Txn) error { return broken }, events.ErrNotWritten, 2},
		{"no room", func(*badger.Txn) error { return errors.Join(broken, syscall.ENOSPC) }, events.ErrNoSpace, 2},
		{"kept in part", partly, events.ErrUnknownOutcome, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fail func(*badger.Txn) error
			b := openSmall(t, filepath.Join(t.TempDir(), "log"), func(tune *tuning) {
				tune.commit = func(txn *badger.Txn) error {
					if f := fail; f != nil {
						fail = nil
						return f(txn)
					}
					return txn.Commit()
				}
			})
			require.NoError(t, b.Append(t.Context(), 0, entries("a", 2)))
			fail = c.commit
			err := b.Append(t.Context(), 2, entries("b", 2))
			require.ErrorIs(t, err, c.want)
			if c.want != nil {
				require.ErrorIs(t, err, broken)
			}
			if c.end < 0 {
				_, err := b.End(t.Context())
				require.ErrorIs(t, err, events.ErrUnknownOutcome, "it stops")
				return
			}
			require.Equal(t, c.end, count(t, b))
			require.NoError(t, b.Append(t.Context(), uint64(c.end), entries("c", 2)), "it goes on")
			require.Equal(t, c.end+2, count(t, b))
		})
	}
}

// A reader in the middle of the log is not disturbed by the database being opened again, nor by an append of its own.
func TestReadingWhileACommitIsResolved(t *testing.T) {
	fail := false
	b := openSmall(t, filepath.Join(t.TempDir(), "log"), func(tune *tuning) {
		tune.commit = func(txn *badger.Txn) error {
			if fail {
				return errors.New("no")
			}
			return txn.Commit()
		}
	})
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 100)))
	n := uint64(0)
	for e, err := range b.Read(t.Context(), 1) {
		require.NoError(t, err)
		n++
		require.Equal(t, n, e.Pos)
		fail = true
		require.ErrorIs(t, b.Append(t.Context(), 99+n, entries("never", 1)), events.ErrNotWritten)
		fail = false
		require.NoError(t, b.Append(t.Context(), 99+n, entries(fmt.Sprint("r", n), 1)))
		if n == 10 {
			break
		}
	}
	require.Equal(t, 110, count(t, b))
}

// Closing while somebody reads ends the reading with ErrClosed.
func TestCloseWhileReading(t *testing.T) {
	b := openSmall(t, filepath.Join(t.TempDir(), "log"), nil)
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 50)))
	var last error
	for _, err := range b.Read(t.Context(), 1) {
		last = err
		require.NoError(t, b.Close())
	}
	require.ErrorIs(t, last, events.ErrClosed)
}

func TestNoSpaceIsRefusedBeforeBadgerIsAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	free := uint64(math.MaxUint64)
	b := openSmall(t, dir, func(tune *tuning) {
		tune.free = func(string) (uint64, error) { return free, nil }
	})
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 2)))
	free = b.tune.reserve()
	require.ErrorIs(t, b.Append(t.Context(), 2, entries("b", 2)), events.ErrNoSpace)
	require.Equal(t, 2, count(t, b), "reading goes on")
	free = math.MaxUint64
	require.NoError(t, b.Append(t.Context(), 2, entries("b", 2)))
	require.NoError(t, b.Close())

	tune := small()
	tune.free = func(string) (uint64, error) { return 100, nil }
	_, err := open(dir, Options{}, tune)
	require.ErrorIs(t, err, events.ErrNoSpace)
	require.ErrorContains(t, err, "needed to open it")
}

// What Badger only logs stops the appends.
func TestBadgersComplaintsStopAppends(t *testing.T) {
	b := openSmall(t, filepath.Join(t.TempDir(), "log"), nil)
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 2)))
	b.watch.Warningf("%s might be too small. Metrics: %s\n", "Block cache", "")
	b.watch.Infof("all is well")
	require.NoError(t, b.Append(t.Context(), 2, entries("b", 1)))
	b.watch.Errorf("Ignoring table %s", "000004.sst")
	err := b.Append(t.Context(), 3, entries("c", 1))
	require.ErrorIs(t, err, events.ErrNotWritten)
	require.ErrorContains(t, err, "Ignoring table 000004.sst")
	require.Equal(t, 3, count(t, b))
	require.ErrorContains(t, b.Close(), "Ignoring table")
	require.NoError(t, b.Close())
}

// A store whose end was lost is opened only when asked to, and then the files as found are kept.
func TestAcceptEnd(t *testing.T) {
	img := crashed(t)
	live := img.wals(t)
	empty(t, img.path(live[len(live)-1].name))
	before := img.state(t)
	o := run(t, "read", img.dir)
	require.Contains(t, o.err, "open it once with AcceptEnd")
	o = run(t, "accept", img.dir)
	require.Empty(t, o.err)
	require.Empty(t, o.crash)
	require.Less(t, len(o.events), len(img.acked))
	require.Equal(t, img.acked[:len(o.events)-1], o.events[1:])
	kept := image{dir: quarantinePath(img.dir)}.state(t)
	for _, f := range before {
		if !regexpDisposable.MatchString(f) {
			require.Contains(t, kept, f)
		}
	}
	o = run(t, "read", img.dir)
	require.Empty(t, o.err, "from then on it is a log like any other")
}

func TestAHoleIsNeverAccepted(t *testing.T) {
	img := crashed(t)
	ws := img.wals(t)
	remove(t, img.path(ws[len(ws)-2].name))
	o := run(t, "accept", img.dir)
	require.Contains(t, o.err, "missing in the sequence")
	require.NotContains(t, o.err, "AcceptEnd")
}

// An older copy of the folder, or that of another log, is not what the head file knows.
func TestAnotherFolderUnderTheSameHead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	b := openSmall(t, dir, nil)
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 10)))
	require.NoError(t, b.Close())
	old := image{dir: dir}.copy(t)
	b = openSmall(t, dir, nil)
	require.NoError(t, b.Append(t.Context(), 10, entries("b", 5)))
	require.NoError(t, b.Close())

	other := filepath.Join(t.TempDir(), "log")
	b = openSmall(t, other, nil)
	require.NoError(t, b.Append(t.Context(), 0, entries("c", 30)))
	require.NoError(t, b.Close())

	for from, want := range map[string]string{old.dir: "events 11 to 15 missing at the end", other: "event 15 is not the one"} {
		mixed := image{dir: from}.copy(t).dir
		remove(t, headPath(mixed))
		require.NoError(t, copyFile(headPath(dir), headPath(mixed)))
		_, err := open(mixed, Options{}, small())
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, events.ErrCorrupt)
		var damage *DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, mixed, damage.Dir)
	}
}

// The rehearsal must not touch the tables that it has hard links of.
func TestRehearsalLeavesTheStoreAlone(t *testing.T) {
	img := crashed(t)
	before := img.state(t)
	head, err := openHead(img.dir)
	require.NoError(t, err)
	b := &Backend{dir: img.dir, tune: small(), head: head}
	s, err := look(img.dir)
	require.NoError(t, err)
	end, err := b.rehearse(s)
	require.NoError(t, err)
	require.EqualValues(t, len(img.acked)+1, end)
	require.NoError(t, head.close())
	require.Equal(t, before, img.state(t))
	b2 := openSmall(t, img.dir, nil)
	require.NoDirExists(t, rehearsalPath(img.dir))
	require.Equal(t, len(img.acked)+1, count(t, b2))
}

// A table is worth nothing to the log if its entry in the origin index is gone.
func TestOriginIndexIsChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	b := openSmall(t, dir, nil)
	es := entries("a", 10)
	require.NoError(t, b.Append(t.Context(), 0, es))
	require.NoError(t, b.db.Update(func(txn *badger.Txn) error { return txn.Delete(originKey(es[3].Key)) }))
	require.NoError(t, b.Close())
	remove(t, markPath(dir)) // a clean close would be trusted
	_, err := open(dir, Options{AcceptEnd: true}, small())
	require.ErrorContains(t, err, "1 of 10 events are not in the origin index")
}

func TestGapIsNamedByRead(t *testing.T) {
	for pos, want := range map[uint64]string{4: "event 4 missing", 10: "event 10 missing", 1: "event 1 missing"} {
		b := openSmall(t, filepath.Join(t.TempDir(), "log"), nil)
		require.NoError(t, b.Append(t.Context(), 0, entries("a", 10)))
		require.NoError(t, b.db.Update(func(txn *badger.Txn) error { return txn.Delete(entryKey(pos)) }))
		var last error
		for _, err := range b.Read(t.Context(), 1) {
			last = err
		}
		require.ErrorIs(t, last, events.ErrGap)
		require.ErrorContains(t, last, want)
	}
}

// The head file alone decides that a store is in use: nothing in the folder is looked at before.
func TestHeadFileIsTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	h, err := openHead(dir)
	require.NoError(t, err)
	_, err = open(dir, Options{}, small())
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, h.close())
	require.NoError(t, openSmall(t, dir, nil).Close())
}

func TestHeadSlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	h, err := openHead(dir)
	require.NoError(t, err)
	require.True(t, h.missing)
	require.NoError(t, h.begin(head{}))
	for pos := uint64(1); pos < 20; pos++ {
		require.NoError(t, h.write(headOf(pos, []byte{byte(pos)})))
		again := &headFile{f: h.f}
		require.NoError(t, again.read())
		require.Equal(t, h.head, again.head)
		// Tear the newest slot: the one before it counts.
		_, err := h.f.WriteAt([]byte("torn"), int64(h.counter%2)*slotStride+10)
		require.NoError(t, err)
		torn := &headFile{f: h.f}
		require.NoError(t, torn.read())
		require.False(t, torn.missing)
		require.Equal(t, pos-1, torn.head.pos)
		h.counter--
		require.NoError(t, h.write(headOf(pos, []byte{byte(pos)})))
	}
	require.NoError(t, h.close())
}

// The names of new files are synced once, and again when there are others.
func TestNamesAreSyncedWhenTheyChange(t *testing.T) {
	b := openSmall(t, filepath.Join(t.TempDir(), "log"), nil)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(b.dir, long, long))
	require.NoError(t, b.syncNames())
	require.True(t, b.synced.sure)
	first := b.synced
	require.NoError(t, b.syncNames())
	require.Equal(t, first, b.synced)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "new"), nil, 0o600))
	require.NoError(t, b.syncNames())
	require.NotEqual(t, first.mtime, b.synced.mtime)
	require.NoError(t, os.Remove(filepath.Join(b.dir, "new")))
}

func TestLocalFolderIsNoNetwork(t *testing.T) {
	name, err := networkFS(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, name)
	free, err := freeBytes(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
	if runtime.GOOS == "linux" {
		_, err := networkFS("/proc/self/no/such")
		require.Error(t, err)
	}
}

// A batch over what one transaction holds writes nothing.
func TestTooLargeABatch(t *testing.T) {
	b := openSmall(t, filepath.Join(t.TempDir(), "log"), nil)
	require.ErrorIs(t, b.Append(t.Context(), 0, entries("a", 5000)), events.ErrTooLarge)
	require.Zero(t, count(t, b))
	require.NoError(t, b.Append(context.Background(), 0, entries("a", 10)))
}

// With OnBlockRead an iterator skips what it cannot read and a compaction then deletes it; with the modes that check whole
// tables Badger ends the process on some damage. The preflight checks instead.
func TestBadgerOptions(t *testing.T) {
	o := badgerOptions("x", defaultTuning())
	require.Equal(t, options.NoVerification, o.ChecksumVerificationMode)
	require.True(t, o.SyncWrites)
	require.EqualValues(t, valueThreshold, o.ValueThreshold)
	require.Greater(t, o.ValueThreshold, int64(events.MaxEventBytes+32))
	require.False(t, o.BypassLockGuard)
}

func TestRename(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "moved")
	b := openSmall(t, from, nil)
	require.NoError(t, b.Append(t.Context(), 0, entries("a", 10)))
	require.NoError(t, b.Close())
	require.ErrorIs(t, Rename(to, from), os.ErrExist)
	require.NoError(t, Rename(from, to))
	left, err := os.ReadDir(filepath.Dir(from))
	require.NoError(t, err)
	require.Empty(t, left)
	require.FileExists(t, markPath(to))
	require.Equal(t, 10, count(t, openSmall(t, to, nil)))
}
