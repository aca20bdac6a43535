package badgerlog

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// regexpDisposable names what holds no events.
var regexpDisposable = regexp.MustCompile(`DISCARD|KEYREGISTRY|vlog`)

// An image is a store that rows of the fault table copy and damage.
type image struct {
	dir   string
	acked []string
}

// crashed is killed while two WALs hold what no table does; closed was closed.
func crashed(t *testing.T) image {
	img := image{dir: filepath.Join(t.TempDir(), "log")}
	o := run(t, "build", img.dir)
	require.Empty(t, o.err)
	require.False(t, o.done, "it kills itself")
	img.acked = o.events
	return img
}

func closed(t *testing.T) image {
	img := image{dir: filepath.Join(t.TempDir(), "log")}
	log, err := openLog(img.dir, Options{}, small())
	require.NoError(t, err)
	for n := 0; n < 6000; n += 100 {
		recs, _, err := log.Append(t.Context(), drafts(n, 100)...)
		require.NoError(t, err)
		for _, r := range recs {
			img.acked = append(img.acked, fmt.Sprintf("%d %s", r.Seq(), r.Hash()))
		}
	}
	require.NoError(t, log.Close())
	return img
}

func (img image) copy(t *testing.T) image {
	to := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.CopyFS(to, os.DirFS(img.dir)))
	for _, ext := range []string{".head", ".clean"} {
		if _, err := os.Stat(img.dir + ext); err == nil {
			require.NoError(t, copyFile(img.dir+ext, to+ext))
		}
	}
	return image{dir: to, acked: img.acked}
}

func (img image) path(name string) string { return filepath.Join(img.dir, name) }

// state names every file of the store with size and sum, without what is Badger's lock or ours.
func (img image) state(t *testing.T) []string {
	var files []string
	if _, err := os.Stat(img.dir); err != nil {
		return nil
	}
	err := filepath.WalkDir(img.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		sum, err := sumFile(img.dir, d.Name())
		files = append(files, fmt.Sprint(sum))
		return err
	})
	require.NoError(t, err)
	return files
}

func (img image) wals(t *testing.T) []wal {
	l, err := list(img.dir)
	require.NoError(t, err)
	var ws []wal
	for _, name := range l.wals {
		w, err := readWAL(img.dir, name)
		require.NoError(t, err)
		ws = append(ws, w)
	}
	return ws
}

func (img image) table(t *testing.T, biggest bool) string {
	names, err := filepath.Glob(img.path("*.sst"))
	require.NoError(t, err)
	require.Greater(t, len(names), 1)
	if biggest {
		return filepath.Base(names[len(names)-1])
	}
	return filepath.Base(names[0])
}

func flip(at float64, bit byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		used := len(strings.TrimRight(string(data), "\x00"))
		data[int(at*float64(used-1))] ^= bit
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

func remove(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
func empty(t *testing.T, path string)  { require.NoError(t, os.Truncate(path, 0)) }

func cut(by int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, max(0, info.Size()-by)))
	}
}

func half(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	used := len(strings.TrimRight(string(data), "\x00"))
	require.NoError(t, os.Truncate(path, int64(used/2)))
}

// A row is one fault. want is what the error has to say; "" means that every event has to be there. After a "?" every
// event may also be there: in a store that was killed, what a table held may still be in a WAL.
type row struct {
	name  string
	fault func(*testing.T, image)
	want  string
}

func on(name string, what func(*testing.T, string)) func(*testing.T, image) {
	return func(t *testing.T, img image) { what(t, img.path(name)) }
}

func onTable(biggest bool, what func(*testing.T, string)) func(*testing.T, image) {
	return func(t *testing.T, img image) { what(t, img.path(img.table(t, biggest))) }
}

// onWAL damages a WAL, counted from the newest.
func onWAL(age int, what func(*testing.T, string)) func(*testing.T, image) {
	return func(t *testing.T, img image) {
		ws := img.wals(t)
		what(t, img.path(ws[len(ws)-1-age].name))
	}
}

func flips(name string, want string, target func(func(*testing.T, string)) func(*testing.T, image), places ...float64) []row {
	var rows []row
	for _, at := range places {
		for _, bit := range []byte{0x01, 0x80} {
			rows = append(rows, row{fmt.Sprintf("%s bit %#x flipped at %.3f", name, bit, at), target(flip(at, bit)), want})
		}
	}
	return rows
}

func tableRows() []row {
	biggest := func(what func(*testing.T, string)) func(*testing.T, image) { return onTable(true, what) }
	manifest := func(what func(*testing.T, string)) func(*testing.T, image) { return on("MANIFEST", what) }
	rows := flips("SST", `\.sst: `, biggest, 0, 0.001, 0.3, 0.7, 0.95, 0.99, 0.9999, 1)
	rows = append(rows, flips("MANIFEST", `MANIFEST`, manifest, 0, 0.05, 0.1, 0.3, 0.6, 1)...)
	return append(rows, []row{
		{"SST missing", onTable(true, remove), `\.sst is missing`},
		{"first SST missing", onTable(false, remove), `\.sst is missing`},
		{"SST empty", onTable(true, empty), `\.sst: its end is not`},
		{"SST cut by 1", onTable(true, cut(1)), `\.sst: `},
		{"SST cut by 100", onTable(true, cut(100)), `\.sst: `},
		{"SST cut in half", onTable(true, half), `\.sst: `},
		{"MANIFEST missing", on("MANIFEST", remove), `MANIFEST is missing, and without it the \d+ tables`},
		{"MANIFEST empty", on("MANIFEST", empty), `MANIFEST cannot be read`},
		{"MANIFEST cut by 1", on("MANIFEST", cut(1)), `?MANIFEST|\.sst is missing`},
		{"MANIFEST cut by 5", on("MANIFEST", cut(5)), `?MANIFEST|\.sst is missing`},
		{"MANIFEST cut in half", on("MANIFEST", half), `MANIFEST|\.sst is missing`},
		{"all but the head file gone", func(t *testing.T, img image) {
			require.NoError(t, os.RemoveAll(img.dir))
		}, `the folder is empty, and the log in it had at least \d+ events`},
		{"KEYREGISTRY missing", on("KEYREGISTRY", remove), ``},
		{"KEYREGISTRY empty", on("KEYREGISTRY", empty), ``},
		{"KEYREGISTRY bit flipped", on("KEYREGISTRY", flip(0.9, 1)), ``},
		{"DISCARD missing", on("DISCARD", remove), ``},
		{"DISCARD empty", on("DISCARD", empty), ``},
		{"DISCARD cut", on("DISCARD", func(t *testing.T, p string) { require.NoError(t, os.Truncate(p, 7)) }), ``},
		{"vlog missing", on("000001.vlog", remove), ``},
		{"vlog empty", on("000001.vlog", empty), ``},
		{"vlog header damaged", on("000001.vlog", flip(0.5, 0xff)), ``},
		{"vlog with a value", on("000001.vlog", func(t *testing.T, p string) {
			require.NoError(t, os.WriteFile(p, []byte(strings.Repeat("x", 100)), 0o600))
		}), `000001.vlog holds values`},
		{"head file missing", func(t *testing.T, img image) { remove(t, headPath(img.dir)) }, `head file .* is missing or unreadable`},
		{"head file empty", func(t *testing.T, img image) { empty(t, headPath(img.dir)) }, `head file .* is missing or unreadable`},
		{"head file torn", func(t *testing.T, img image) {
			f, err := os.OpenFile(headPath(img.dir), os.O_RDWR, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("torn"), 8)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}, ``},
	}...)
}

func walRows() []row {
	live := func(what func(*testing.T, string)) func(*testing.T, image) { return onWAL(0, what) }
	older := func(what func(*testing.T, string)) func(*testing.T, image) { return onWAL(1, what) }
	gone := `events? \d+.* missing|missing in the sequence`
	rows := flips("live WAL", gone, live, 0.001, 0.1, 0.5, 0.9, 0.99)
	rows = append(rows, flips("older WAL", `missing in the sequence: \[events \d+ to \d+\]`, older, 0.001, 0.1, 0.5, 0.9, 0.99)...)
	return append(rows, []row{
		{"live WAL header", onWAL(0, flip(0, 1)), ``},
		{"live WAL missing", onWAL(0, remove), gone},
		{"live WAL empty", onWAL(0, empty), `\.mem is empty`},
		{"live WAL cut in half", onWAL(0, half), gone},
		{"live WAL cut to 10", onWAL(0, func(t *testing.T, p string) { require.NoError(t, os.Truncate(p, 10)) }), gone},
		{"older WAL missing", onWAL(1, remove), `missing in the sequence: \[events \d+ to \d+\]`},
		{"older WAL empty", onWAL(1, empty), `\.mem is empty`},
		{"older WAL cut in half", onWAL(1, half), `missing in the sequence`},
		{"WAL with a wild length", onWAL(0, func(t *testing.T, p string) {
			data, err := os.ReadFile(p)
			require.NoError(t, err)
			copy(data[walHeader+2:], "\x11\xff\xff\xff\xff\x0f") // key of 17, value of 4 GB
			require.NoError(t, os.WriteFile(p, data, 0o600))
		}), gone},
		{"an empty WAL too many", func(t *testing.T, img image) {
			require.NoError(t, os.WriteFile(img.path("00099.mem"), nil, 0o600))
		}, ``},
		{"no fault but the kill", func(*testing.T, image) {}, ``},
	}...)
}

// TestFaults damages one thing at a time in the files of a store. Whatever it is, either every event that was acknowledged
// is there, or Open or the first read says what is damaged; a refused store stays as it is, and refused.
func TestFaults(t *testing.T) {
	afterClose, afterKill := closed(t), crashed(t)
	require.Greater(t, len(afterKill.wals(t)), 2)
	for _, table := range []struct {
		name string
		img  image
		rows []row
	}{
		{"closed", afterClose, tableRows()},
		{"killed", afterKill, append(tableRows(), walRows()...)},
	} {
		for i, r := range table.rows {
			if raced && i%4 != 0 {
				continue
			}
			t.Run(table.name+"/"+strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				img := table.img.copy(t)
				r.fault(t, img)
				r.check(t, img)
			})
		}
	}
}

func (r row) check(t *testing.T, img image) {
	before := img.state(t)
	o := run(t, "read", img.dir)
	require.Empty(t, o.crash, "the process ended")
	want, either := strings.CutPrefix(r.want, "?")
	if want == "" || either && o.err == "" {
		require.Empty(t, o.err)
		require.GreaterOrEqual(t, len(o.events), len(img.acked))
		require.Equal(t, img.acked, o.events[1:1+len(img.acked)], "the first event is the log's own")
		t.Logf("whole: %d events, %v", len(o.events), o.elapsed)
		return
	}
	require.Regexp(t, regexp.MustCompile(want), o.err)
	require.Contains(t, o.err, "is damaged")
	require.Empty(t, o.events)
	require.Equal(t, before, img.state(t), "a refused store is left as it was")
	_, err := openLog(img.dir, Options{}, small())
	require.EqualError(t, err, o.err, "and is refused again")
	t.Logf("refused: %s", o.err)
}

// TestRandomDamage does something to some bytes of some file. It is never silent, and never the end of the process.
func TestRandomDamage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	afterClose, afterKill := closed(t), crashed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for range rounds(20) {
		img := afterClose
		if r.IntN(3) > 0 {
			img = afterKill
		}
		img = img.copy(t)
		files, err := os.ReadDir(img.dir)
		require.NoError(t, err)
		name := files[r.IntN(len(files))].Name()
		what := damage(t, r, img.path(name))
		o := run(t, "read", img.dir)
		require.Emptyf(t, o.crash, "%s: %s", name, what)
		if o.err == "" {
			require.Equalf(t, img.acked, o.events[1:1+len(img.acked)], "%s: %s", name, what)
			continue
		}
		refused++
		require.Containsf(t, o.err, "is damaged", "%s: %s", name, what)
		require.Emptyf(t, o.events, "%s: %s", name, what)
	}
	t.Logf("%d of %d refused, in the others nothing was lost", refused, rounds(20))
}

// damage changes the used part of a file and says how.
func damage(t *testing.T, r *rand.Rand, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	used := len(bytes.TrimRight(data, "\x00"))
	if used == 0 {
		return "nothing in it"
	}
	at := r.IntN(used)
	var what string
	switch r.IntN(4) {
	case 0:
		what = fmt.Sprintf("cut to %d", at)
		data = data[:at]
	case 1:
		what = fmt.Sprintf("noise at %d", at)
		for i := at; i < min(used, at+1+r.IntN(64)); i++ {
			data[i] = byte(r.Uint32())
		}
	case 2:
		what = fmt.Sprintf("a page of zeros at %d", at&^4095)
		clear(data[at&^4095 : min(used, at&^4095+4096)])
	default:
		what = fmt.Sprintf("a bit at %d", at)
		data[at] ^= 1 << r.IntN(8)
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return what
}
