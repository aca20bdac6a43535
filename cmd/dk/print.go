package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dalkkak/dkgraph/events"
)

// A printer writes for people; what it is given goes through clean first, for transcripts and output are hostile.
type printer struct {
	w     io.Writer
	color bool
	tty   bool
	err   error // the first one of writing; see run
}

func newPrinter(w io.Writer) *printer {
	p := &printer{w: w}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.tty = err == nil && info.Mode()&os.ModeCharDevice != 0
		p.color = p.tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return p
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

// jsonLine writes v as one line of JSON. Characters that could steer a terminal are escaped: they can only stand in texts.
func (p *printer) jsonLine(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	p.printf("%s", escapeControls(b.String()))
	return p.err
}

// escapeControls writes control and direction characters as JSON does, the line end aside.
func escapeControls(s string) string {
	if strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !steers(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// steers reports characters that a terminal may act on, or that change how text around them is shown.
func steers(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

// Colours by name, as SGR codes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
	bold   = "1"
)

func (p *printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// verdict is a verdict with its sign, padded to one width.
func (p *printer) verdict(v events.Verdict) string {
	switch v {
	case events.Verified:
		return p.paint(green, "✓ verified  ")
	case events.Failed:
		return p.paint(red, "✗ failed    ")
	case events.Unsafe:
		return p.paint(red, "⊘ unsafe    ")
	case events.Unrunnable:
		return p.paint(yellow, "? unrunnable")
	default:
		return p.paint(dim, "· unjudged  ")
	}
}

// clean makes hostile text fit for a terminal: one line, no control or direction characters.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case steers(r):
			return -1
		}
		return r
	}, s)
}

// cleanLines is clean for text of several lines, such as an error with its places.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// short cuts s to n characters.
func short(s string, n int) string {
	r := []rune(clean(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

// pad fills s to n columns; wide East Asian characters count as two.
func pad(s string, n int) string {
	w := 0
	for _, r := range s {
		w++
		if unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			w++
		}
	}
	return s + strings.Repeat(" ", max(n-w, 0))
}
