package rules

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/google/cel-go/common"
)

// A source is the text of a pack, to find places in it.
type source struct{ lines []string }

func newSource(src string) *source { return &source{lines: strings.SplitAfter(src, "\n")} }

// at returns the line and the column, from 1, of the nth character of a text that stands in the file. YAML folds lines and
// takes indentation and quotes away, so the text is laid beside what stands in the file, character by character.
func (s *source) at(t text, n int) (line, col int) {
	w := walker{lines: s.lines, line: t.Line}
	w.advance(t.Col - 1)
	if t.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		w.col, w.off = 0, 0
		w.indent()
	}
	for _, r := range t.Text {
		if n--; n < 0 {
			break
		}
		w.pass(r, t.style)
	}
	if w.rest() == "\n" || w.rest() == "" {
		w.next() // the text goes on in the next line
	}
	if w.line > len(s.lines) {
		return t.Line, max(t.Col, 1)
	}
	return w.line, w.col + 1
}

// ofError returns the place of a position that CEL gives for the text.
func (s *source) ofError(t text, loc common.Location) (line, col int) {
	n := 0
	for i, l := range strings.SplitAfter(t.Text, "\n") {
		if i+1 == loc.Line() {
			break
		}
		n += utf8.RuneCountInString(l)
	}
	return s.at(t, n+max(loc.Column(), 0))
}

// A walker is a place in the file: a line from 1, and how much of it was passed, in characters and in bytes.
type walker struct {
	lines    []string
	line     int
	col, off int
}

// rest is what follows in the line.
func (w *walker) rest() string {
	if w.line < 1 || w.line > len(w.lines) {
		return ""
	}
	return w.lines[w.line-1][w.off:]
}

// advance passes n characters.
func (w *walker) advance(n int) {
	for range n {
		_, size := utf8.DecodeRuneInString(w.rest())
		w.col, w.off = w.col+1, w.off+size
	}
}

func (w *walker) indent() {
	rest := w.rest()
	w.advance(len(rest) - len(strings.TrimLeft(rest, " ")))
}

// next goes to the first character of the next line that has one.
func (w *walker) next() {
	for w.line <= len(w.lines) {
		w.line, w.col, w.off = w.line+1, 0, 0
		w.indent()
		if r := w.rest(); r != "\n" && r != "\r\n" && r != "" {
			return
		}
	}
}

// pass goes past the one character r of the text.
func (w *walker) pass(r rune, style yaml.Style) {
	rest := w.rest()
	first, size := utf8.DecodeRuneInString(strings.TrimLeft(rest, " \t"))
	blank := size == 0 || first == '\n' || first == '\r'
	switch {
	case blank && (r == ' ' || r == '\n'):
		w.next()
	case blank:
		w.next()
		w.advance(1)
	case style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(rest, "''"),
		style&yaml.DoubleQuotedStyle != 0 && strings.HasPrefix(rest, `\`):
		w.advance(2)
	case r == ' ' && rest[0] != ' ', r == '\n':
		// the indentation of a literal block is passed already
	default:
		w.advance(1)
	}
}
