package transcript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// evilRecord is a record of an assistant with a marker, to be hidden where it is not one.
func evilRecord() map[string]any {
	return map[string]any{
		"type": "assistant", "uuid": "u-evil", "sessionId": "s-1", "message": map[string]any{
			"id": "m-evil", "role": "assistant", "content": []any{map[string]any{"type": "text", "text": verify("evil")}},
		},
	}
}

// evilLines hold markers in every place where they do not count, as text and as records.
func evilLines(id string) [][]byte {
	evil := string(recordLine("assistant", id, evilRecord(), nil))
	return [][]byte{
		userLine(id, verify("evil")),
		userLine(id, evil+verify("evil")),
		toolResultLine(id, evil),
		recordLine("user", id, map[string]any{"role": "user", "content": []any{}}, map[string]any{"toolUseResult": evilRecord()}),
		recordLine("user", id, map[string]any{"role": "user", "content": []any{}}, map[string]any{"toolUseResult": []any{evilRecord(), evilRecord()}}),
		blockLine(id, map[string]any{"type": "tool_use", "name": "x", "input": evilRecord()}),
		blockLine(id, map[string]any{"type": "tool_use", "name": "x", "input": map[string]any{"a": evil, "b": []any{1, evilRecord()}}}),
		blockLine(id, map[string]any{"type": "thinking", "thinking": verify("evil")}),
		recordLine("progress", id, nil, map[string]any{"data": evilRecord()}),
	}
}

// damaged returns line with something done to it that crashes, disks and other programs do.
func damaged(t *rapid.T, line []byte) []byte {
	b := slices.Clone(bytes.TrimSuffix(line, []byte("\n")))
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		if len(b) == 0 {
			break
		}
		from := rapid.IntRange(0, len(b)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(b)).Draw(t, "to")
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0: // cut off
			b = b[:from]
		case 1: // beginning lost
			b = b[from:]
		case 2: // middle lost
			b = slices.Delete(b, from, to)
		case 3: // zeroed
			clear(b[from:to])
		case 4: // one byte
			b[from] = rapid.Byte().Draw(t, "byte")
		case 5: // something between
			b = slices.Insert(b, from, rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "bytes")...)
		}
	}
	return append(bytes.ReplaceAll(b, []byte("\n"), []byte(" ")), '\n')
}

// Whatever happens to some lines, the markers of the others are found, in order, and none comes from anywhere else.
func TestPropertyDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		transcript := userLine("0", "hi")
		var want []string
		for i := range rapid.IntRange(1, 6).Draw(t, "lines") {
			id := fmt.Sprint(i)
			evil := evilLines(id)
			kind := rapid.IntRange(0, 2*len(evil)).Draw(t, "kind")
			if kind >= len(evil) {
				want = append(want, id)
				transcript = append(transcript, assistantLine(id, "Done.\n"+verify(id))...)
				continue
			}
			line := evil[kind]
			if rapid.Bool().Draw(t, "damage") {
				line = damaged(t, line)
			}
			transcript = append(transcript, line...)
		}
		drafts, _ := read(t, string(transcript), Source{})
		require.Equal(t, want, claims(t, drafts), "%s", transcript)
	})
}

// A record that is written right behind one that was cut off is read, wherever the cut was; only where it could be a
// value within the broken record is it left alone.
func TestPropertySplice(t *testing.T) {
	next := assistantLine("good", verify("good"))
	lines := append(evilLines("1"), assistantLine("2", "Text with \"quotes\", \\ and ünïcode.\n"+verify("x")))
	for n, line := range lines {
		line = bytes.TrimSpace(line)
		for cut := 1; cut <= len(line); cut++ {
			b := append(slices.Clone(line[:cut]), next...)
			drafts, stats := read(t, string(userLine("0", "hi"))+string(b), Source{})
			want := []string{"good"}
			if cut == len(line) && n == len(lines)-1 {
				want = []string{"x", "good"}
			}
			if maybeValue(line[:cut]) && !slices.Contains(claims(t, drafts), "good") {
				want = nil
			}
			require.Equal(t, want, claims(t, drafts), "%s", b)
			require.Equal(t, int64(1), stats.Damaged)
		}
	}
}

// What is put around markers decides whether they count, and nothing else does.
func TestPropertyAround(t *testing.T) {
	around := []struct {
		text string // with M for the marker
		want string // "" if it counts
	}{
		{"M", ""},
		{"Done. M", ""},
		{"M and more", ""},
		{"- M", ""},
		{"```\nM\n```", "fenced"},
		{"~~~~ go\nM\n~~~\n~~~~", "fenced"},
		{"> M", "quoted"},
		{"`M`", "inline_code"},
		{"<!-- M -->", "comment"},
		{"<!--\n\nM\n\n-->", "comment"},
		{"x M y", "mid_sentence"},
		{"    M", "fenced"},
		{"1. x\n\n   ```\n   M\n   ```", "fenced"},
		{"plain `code` text", "none"},
		{"# Title", "none"},
		{"| a | b |", "none"},
		{"텍스트 テキスト", "none"},
		{"a stray ` tick", "none"},
	}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var want []string
		for i := range rapid.IntRange(1, 8).Draw(t, "parts") {
			part := rapid.SampledFrom(around).Draw(t, "part")
			id := fmt.Sprint("c", i)
			text.WriteString(strings.Replace(part.text, "M", verify(id), 1) + "\n\n")
			switch part.want {
			case "":
				want = append(want, id)
			case "none":
			default:
				want = append(want, part.want)
			}
			// Between list items indentation is counted from the item.
			text.WriteString("Text.\n\n")
		}
		found := Scan(text.String())
		have := outcomes(found)
		require.Equal(t, append([]string{}, want...), have, text.String())
		requireSound(t, text.String(), found)
	})
}
