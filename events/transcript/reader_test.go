package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dalkkak/dkgraph/events"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// Each file of testdata/claude is a transcript and what it drafts.
func TestReader(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "claude", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Len(t, ar.Files, 2)
			drafts, stats := read(t, string(ar.Files[0].Data), Source{Path: "t.jsonl"})
			require.Equal(t, strings.TrimSpace(string(ar.Files[1].Data)), strings.Join(brief(t, drafts), "\n"))
			require.Equal(t, int64(len(ar.Files[0].Data)), stats.Bytes)
			require.False(t, stats.Partial)

			// Carriage returns, small reads and NULs before a line change nothing but places.
			windows := strings.ReplaceAll(string(ar.Files[0].Data), "\n", "\r\n")
			again, _ := read(t, windows, Source{Path: "t.jsonl"})
			requireSameOrigins(t, drafts, again)
			nuls := "\x00\x00" + strings.ReplaceAll(string(ar.Files[0].Data), "\n", "\x00\n\x00\x00\x00")
			again, _ = read(t, nuls, Source{Path: "t.jsonl", Final: true})
			if !strings.Contains(file, "damage") {
				requireSameOrigins(t, drafts, again)
			}
			r := NewReader(iotest.OneByteReader(bytes.NewReader(ar.Files[0].Data)), Source{Path: "t.jsonl"})
			var slow []events.Draft
			for d, err := range r.Drafts() {
				require.NoError(t, err)
				slow = append(slow, d)
			}
			require.Equal(t, drafts, slow)
			require.Equal(t, stats, r.Stats())
		})
	}
}

func requireSameOrigins(t *testing.T, want, have []events.Draft) {
	t.Helper()
	require.Equal(t, brief(t, want), brief(t, have))
	for i := range want {
		if want[i].Kind() != events.KindTranscriptDamaged {
			require.Equal(t, want[i].Origin(), have[i].Origin())
		}
	}
}

func TestReaderSeen(t *testing.T) {
	first := userLine("1", "hi")
	second := blockLine("2", map[string]any{"type": "thinking", "thinking": "hm"}, map[string]any{"type": "text", "text": "`<dk-node>`\n" + verify("a")})
	drafts, _ := read(t, string(first)+string(second), Source{Path: "/x/t.jsonl"})
	require.Equal(t, []string{"session.seen s-1", "marker.ignored inline_code", "claim.made a"}, brief(t, drafts))
	want := events.Seen{
		Agent: "claude", AgentVersion: "2.0.69", Session: "s-1", Record: "u-1", Source: "/x/t.jsonl",
		LineSHA256: events.Sum(bytes.TrimSpace(first)).String(), CWD: "/home/dev/app", At: clock("2026-01-02T03:04:05.678Z"),
	}
	require.Equal(t, want, drafts[0].Seen())
	want.Record, want.Turn, want.Block, want.Ordinal = "u-2", "m-2", 1, 1
	want.Offset, want.LineSHA256 = int64(len(first)), events.Sum(bytes.TrimSpace(second)).String()
	require.Equal(t, want, drafts[2].Seen())
}

// Without ids the line is the turn: read again it is the same, said again later it is another.
func TestReaderWithoutIDs(t *testing.T) {
	line := func(at string) string {
		return string(recordLine("assistant", "", map[string]any{"content": verify("a")}, map[string]any{"uuid": nil, "timestamp": at}))
	}
	one, two := line("2026-01-02T03:04:05Z"), line("2026-01-02T03:05:05Z")
	drafts, stats := read(t, one+one+two, Source{})
	require.Equal(t, []string{"session.seen s-1", "claim.made a", "claim.made a"}, brief(t, drafts))
	require.Equal(t, int64(1), stats.Repeated)
}

func TestReaderPartial(t *testing.T) {
	head := string(userLine("1", "hi"))
	tail := string(bytes.TrimSpace(assistantLine("2", verify("a"))))
	whole, _ := read(t, head+tail+"\n", Source{Path: "p"})
	require.Len(t, whole, 2)

	growing, stats := read(t, head+tail, Source{Path: "p"})
	require.Equal(t, whole[:1], growing)
	require.Equal(t, Stats{Bytes: int64(len(head)), Lines: 1, Partial: true, PartialBytes: int64(len(tail))}, stats)

	for _, end := range []string{"", "\r"} {
		final, stats := read(t, head+tail+end, Source{Path: "p", Final: true})
		require.Equal(t, whole, final)
		require.Equal(t, Stats{Bytes: int64(len(head + tail + end)), Lines: 2, Markers: 1}, stats)
	}

	cut := tail[:len(tail)-3]
	final, stats := read(t, head+cut, Source{Path: "p", Final: true})
	require.Equal(t, whole[:1], final)
	require.Equal(t, Stats{Bytes: int64(len(head)), Lines: 1, Partial: true, PartialBytes: int64(len(cut))}, stats)
}

func TestReaderUnknownFormat(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"empty":        {"", nil},
		"blank lines":  {"\n\r\n\n", nil},
		"growing":      {`{"type":"us`, nil},
		"text":         {"hello\nworld\n", ErrUnknownFormat},
		"other JSON":   {`{"silly":"this"}` + "\n", ErrUnknownFormat},
		"codex":        {`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}` + "\n", ErrUnknownFormat},
		"gemini":       {`{"sessionId":"x","projectHash":"y"}` + "\n" + `{"id":"1","type":"gemini","content":"x"}` + "\n", ErrUnknownFormat},
		"antigravity":  {`{"step_index":1,"source":"MODEL","type":"PLANNER_RESPONSE","content":"x"}` + "\n", ErrUnknownFormat},
		"many records": {strings.Repeat("{\"x\":1}\n", maxUnknown+1) + string(userLine("1", "x")), ErrUnknownFormat},
		"late":         {strings.Repeat("{\"x\":1}\n", maxUnknown) + string(userLine("1", "x")), nil},
		"bytes":        {"\x89PNG\r\n\x1a\n\x00\x00\n", ErrUnknownFormat},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			for _, err := range NewReader(strings.NewReader(c.file), Source{Path: "x"}).Drafts() {
				last = err
			}
			require.ErrorIs(t, last, c.want)
		})
	}
}

func TestReaderError(t *testing.T) {
	boom := errors.New("boom")
	head := string(assistantLine("1", verify("a")))
	r := NewReader(io.MultiReader(strings.NewReader(head+`{"ty`), iotest.ErrReader(boom)), Source{Path: "p"})
	var drafts []events.Draft
	var last error
	for d, err := range r.Drafts() {
		if last = err; err == nil {
			drafts = append(drafts, d)
		}
	}
	require.ErrorIs(t, last, boom)
	require.Equal(t, []string{"a"}, claims(t, drafts))
	require.Equal(t, int64(len(head)), r.Stats().Bytes)
}

func TestReaderStops(t *testing.T) {
	r := NewReader(strings.NewReader(string(assistantLine("1", verify("a")+"\n"+verify("b")))+"broken\n"), Source{})
	n := 0
	for range r.Drafts() {
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
}

func TestReaderLimits(t *testing.T) {
	var b strings.Builder
	b.Write(userLine("0", strings.Repeat("<dk-node> ", 100)))
	b.Write(assistantLine("1", strings.Repeat("`<dk-node>`\n", 100)+verify("a")))
	for i := range 1100 {
		b.Write(userLine(fmt.Sprint("x", i), "<dk-node>"))
		fmt.Fprintf(&b, "broken %d\n", i)
	}
	b.Write(assistantLine("2", verify("b")))
	drafts, stats := read(t, b.String(), Source{})
	require.Equal(t, []string{"a", "b"}, claims(t, drafts))
	require.Equal(t, int64(1000), stats.Ignored)
	require.Equal(t, int64(300), stats.IgnoredDropped)
	require.Equal(t, int64(1100), stats.Damaged)
	require.Equal(t, int64(100), stats.DamagedDropped)
	require.Len(t, drafts, 2003)
}

// Whatever ids a transcript claims to have, the drafts must fit the log.
func TestReaderHugeFacts(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	rec := recordLine("assistant", "1", map[string]any{
		"id": huge, "content": []any{map[string]any{"type": "text", "text": verify("a")}},
	}, map[string]any{"uuid": huge + "u", "sessionId": huge + "s", "version": huge + "v", "cwd": "/" + huge, "timestamp": "9999-12-31T23:59:59-23:00"})
	drafts, _ := read(t, string(rec), Source{})
	require.Len(t, drafts, 2)
	seen := drafts[1].Seen()
	for _, s := range []string{seen.Session, seen.Record, seen.Turn, seen.AgentVersion} {
		require.LessOrEqual(t, len(s), events.MaxLabelBytes)
		require.True(t, strings.HasPrefix(s, "sha256:"))
	}
	require.Empty(t, seen.CWD)
	require.True(t, seen.At.IsZero())
}

// A record reads the same however its letters are escaped.
func TestReaderEscapes(t *testing.T) {
	plain := string(assistantLine("1", verify("a")))
	require.Contains(t, plain, `\u003cdk-verify\u003e`)
	want, _ := read(t, plain, Source{})
	for name, line := range map[string]string{
		"none":       strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(plain),
		"upper":      strings.NewReplacer(`\u003c`, `\u003C`, `\u003e`, `\u003E`).Replace(plain),
		"letters":    strings.NewReplacer(`dk-verify`, `\u0064\u006B-\u0076erify`).Replace(plain),
		"all dashes": strings.NewReplacer(`dk-verify`, `dk\u002dverify`).Replace(plain),
		"slash":      strings.NewReplacer(`/dk-verify`, `\/dk-verify`).Replace(plain),
		"keys":       strings.NewReplacer(`"type"`, `"typ\u0065"`, `"content"`, `"\u0063ontent"`).Replace(plain),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, plain, line)
			have, _ := read(t, line, Source{})
			requireSameOrigins(t, want, have)
		})
	}
}

func TestReaderNotUTF8(t *testing.T) {
	good := string(assistantLine("1", verify("a")))
	marker := strings.Replace(string(assistantLine("2", verify("b"))), "tests pass", "tests\xff\xfepass", 1)
	elsewhere := strings.Replace(string(assistantLine("3", "Voil\u00e0\n"+verify("c"))), "Voil\u00e0", "Voil\xe0", 1)
	written := string(assistantLine("4", strings.Replace(verify("d"), "tests", "\ufffd", 1)))
	drafts, stats := read(t, good+marker+elsewhere+written, Source{})
	require.Equal(t, []string{"session.seen s-1", "claim.made a", "marker.ignored malformed", "claim.made c", "claim.made d"}, brief(t, drafts))
	require.Zero(t, stats.Damaged)
}

// lineOf reads as one line of n bytes, without holding it.
type lineOf struct{ n int }

func (l *lineOf) Read(p []byte) (int, error) {
	if l.n == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), l.n)], bytes.Repeat([]byte("x"), len(p)))
	l.n -= n
	if l.n == 0 {
		p[n-1] = '\n'
	}
	return n, nil
}

func TestReaderLongLine(t *testing.T) {
	const long = 100 << 20
	r := NewReader(io.MultiReader(
		bytes.NewReader(assistantLine("1", verify("a"))), &lineOf{long}, bytes.NewReader(assistantLine("2", verify("b"))),
	), Source{})
	var drafts []events.Draft
	for d, err := range r.Drafts() {
		require.NoError(t, err)
		require.LessOrEqual(t, cap(r.lines.buf), MaxLineBytes+2)
		drafts = append(drafts, d)
	}
	require.Equal(t, []string{
		"session.seen s-1", "claim.made a", fmt.Sprint("transcript.damaged line_too_long ", long-1), "claim.made b",
	}, brief(t, drafts))
	require.Equal(t, int64(1), r.Stats().SkippedLong)
	require.LessOrEqual(t, cap(r.lines.buf), keepBytes)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(32<<20))
}

func TestLineReader(t *testing.T) {
	const limit = 70_000
	for _, n := range []int{0, 1, 2, limit - 1, limit, limit + 1, limit + 2, limit + 3, 3 * limit} {
		for _, end := range []string{"", "\n", "\r\n"} {
			body := strings.Repeat("x", n)
			t.Run(fmt.Sprintf("%d%q", n, end), func(t *testing.T) {
				l := newLineReader(iotest.HalfReader(strings.NewReader("first\n"+body+end)), limit)
				_, err := l.next()
				require.NoError(t, err)
				ln, err := l.next()
				if n+len(end) == 0 {
					require.Equal(t, io.EOF, err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, n > limit, ln.long)
				require.Equal(t, end != "", ln.ended)
				require.Equal(t, int64(6), ln.offset)
				require.Equal(t, int64(n), ln.length)
				require.Equal(t, int64(n+len(end)), ln.taken)
				require.Equal(t, events.Sum([]byte(body)).String(), ln.hash())
				require.LessOrEqual(t, cap(l.buf), limit+2)
				_, err = l.next()
				require.Equal(t, io.EOF, err)
			})
		}
	}
}

func ExampleReader() {
	line := `{"type":"assistant","sessionId":"s","uuid":"u","cwd":"/app","message":{"id":"m","content":[{"type":"text",` +
		`"text":"Done.\n<dk-verify>{\"id\":\"t1\",\"claim\":\"tests pass\",\"kind\":\"test\",\"verify\":\"go test\"}</dk-verify>"}]}}`
	r := NewReader(strings.NewReader(line), Source{Path: "s.jsonl", Final: true})
	for draft, err := range r.Drafts() {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Println(draft.Kind(), "at", draft.Seen().Offset)
	}
	fmt.Println(r.Stats().Markers, "marker")
	// Output:
	// session.seen at 0
	// claim.made at 0
	// 1 marker
}

// Lines that are made to be slow: each must be read in time that grows with its length.
func TestReaderHostile(t *testing.T) {
	const n = 1 << 18
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	for name, body := range map[string]string{
		"nested objects":      fill(`{"a":`),
		"open keys":           fill(`{"`),
		"records":             fill(`{"type":"x"}`),
		"broken records":      fill(`{"type":"x`),
		"records with spaces": fill(`{"type":"x"} `) + "x",
		"records in a string": `{"type":"` + fill(`{"type":"x"}`),
		"objects at the end":  "x" + fill(`{"a":{}}`),
		"brackets":            fill("["),
		"closing braces":      "x" + fill("}"),
		"quotes at the end":   "x" + fill(`"`) + "}",
		"escapes at the end":  "x" + fill(`\"`) + "}",
		"backslashes":         "x" + fill(`\`) + `"}`,
		"NULs":                `{"a` + fill("\x00") + `{"type":"x"}`,
		"NULs and braces":     fill("{\"a\x00"),
		"many members":        `{"type":"x"` + fill(`,"a":1`) + "}",
		"deep record":         `{"type":"x","a":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + "}",
		"escapes":             `{"type":"x","a":"` + fill(`\u0041`) + `dk-"}`,
		"tags":                `{"type":"x","a":"` + fill(`<dk-node>`) + `"}`,
		"strings with tags":   `{"type":"x","a":[` + fill(`"<dk-node>",`) + `1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			drafts, stats := read(t, string(userLine("0", "hi"))+body+"\n"+string(assistantLine("1", verify("a"))), Source{})
			require.Equal(t, []string{"a"}, claims(t, drafts))
			require.Equal(t, int64(3), stats.Lines)
		})
	}
}
