package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dalkkak/dkgraph/events"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// plainly reports what is true of every marker that counts, without knowing Markdown: its tags and JSON, its place on
// the line, and that no simple fence or quote mark is before it.
func plainly(t *testing.T, text string, f Found) {
	rest, ok := strings.CutPrefix(text[f.Offset:], "<"+f.Tag+">")
	require.True(t, ok)
	rest = strings.TrimLeft(rest, " \t\r\n")
	dec := json.NewDecoder(strings.NewReader(rest))
	var v map[string]any
	require.NoError(t, dec.Decode(&v))
	require.Equal(t, rest[:dec.InputOffset()], f.Body)
	after, ok := strings.CutPrefix(strings.TrimLeft(rest[dec.InputOffset():], " \t\r\n"), "</"+f.Tag+">")
	require.True(t, ok)

	before := text[:f.Offset]
	line := before[strings.LastIndexAny(before, "\r\n")+1:]
	end, _, _ := strings.Cut(strings.ReplaceAll(after, "\r", "\n"), "\n")
	require.True(t, strings.TrimSpace(line) == "" || strings.TrimSpace(end) == "", "neither first nor last")
	if !strings.Contains(before, "<!--") { // within a comment the sign means nothing
		require.False(t, strings.HasPrefix(line, ">"), "in a quote")
	}

	// If there are no other blocks to be told apart, an open fence is an odd number of lines of backticks.
	if !strings.ContainsAny(before, "~>\t\r-+*)._") && !strings.Contains(before, "\n ") && !strings.HasPrefix(before, " ") {
		fences := 0
		for l := range strings.Lines(before) {
			if strings.TrimRight(l, " \n") == "```" {
				fences++
			} else if strings.HasPrefix(l, "```") {
				return // an info string, a longer fence or code
			}
		}
		require.Zero(t, fences%2, "in a fence")
	}
}

func FuzzScan(f *testing.F) {
	ar, err := txtar.ParseFile(filepath.Join("testdata", "markers.txtar"))
	require.NoError(f, err)
	for i := 0; i < len(ar.Files); i += 2 {
		f.Add(string(ar.Files[i].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := Scan(text)
		for _, m := range found {
			require.Equal(t, m.Reason == "", m.payload != nil)
			if m.Reason == "" {
				plainly(t, text, m)
			}
		}
		if utf8.ValidString(text) {
			requireSound(t, text, found)
		}
		// What a text says does not hang on what stands in a paragraph after it.
		again := Scan(text + "\n\n\n<!-- -->\n\nMore.\n")
		require.GreaterOrEqual(t, len(again), len(found))
	})
}

func FuzzReader(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "claude", "*.txtar"))
	require.NoError(f, err)
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		require.NoError(f, err)
		f.Add(ar.Files[0].Data)
		for l := range bytes.Lines(ar.Files[0].Data) {
			f.Add(l)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), Source{Final: true})
		origins := map[events.Hash]bool{}
		ignored := map[string]int{}
		for d, err := range r.Drafts() {
			if err != nil {
				require.ErrorIs(t, err, ErrUnknownFormat)
				continue
			}
			require.False(t, origins[d.Origin()], "the same draft twice")
			origins[d.Origin()] = true
			if d.Kind() == events.KindMarkerIgnored {
				ignored[d.Seen().LineSHA256]++
				require.LessOrEqual(t, ignored[d.Seen().LineSHA256], maxIgnoredLine*bytes.Count(data, []byte("\n"))+maxIgnoredLine)
			}
		}
		s := r.Stats()
		require.LessOrEqual(t, s.Bytes+s.PartialBytes, int64(len(data)))

		// With a good line behind it, nothing that was there is lost, and the good one is found.
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(bytes.Clone(data), '\n')
		}
		good := append(bytes.Clone(data), assistantLine("the good one", verify("the good one"))...)
		var last error
		var drafts []events.Draft
		for d, err := range NewReader(bytes.NewReader(good), Source{}).Drafts() {
			if last = err; err == nil {
				drafts = append(drafts, d)
			}
		}
		if !errors.Is(last, ErrUnknownFormat) {
			require.Contains(t, claims(t, drafts), "the good one")
		}
	})
}
