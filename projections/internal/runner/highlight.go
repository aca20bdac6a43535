package runner

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

const (
	maxHighlights     = 8
	maxHighlightBytes = 300
)

// The ranks of a line, best first.
const (
	rankWhy   = iota // says what is wrong
	rankWhere        // names what failed
	rankThat         // says that something failed
	ranks
)

// A highlighter picks the lines that show what went wrong. It keeps the first few of each rank.
type highlighter struct {
	kept [ranks][]highlight
	seen int
	test goScope
}

type highlight struct {
	order int
	text  string
}

func (h *highlighter) line(line []byte) {
	h.seen++
	line = bytes.TrimRight(line, " \t\r")
	if why := &h.kept[rankWhy]; h.test.line(line, len(*why)) {
		*why = (*why)[:min(h.test.from, len(*why))]
	}
	rank := rankOf(line, len(h.kept[rankWhy]) == maxHighlights)
	if rank < 0 || len(h.kept[rank]) == maxHighlights {
		return
	}
	h.kept[rank] = append(h.kept[rank], highlight{h.seen, string(line[:min(len(line), 4*maxHighlightBytes)])})
}

// A goScope follows `go test -v`, where what a test logs comes before it is known whether it passes.
type goScope struct {
	from  int  // how many reasons were kept when the test began
	mixed bool // others run at the same time, and nobody can tell whose line is whose
}

// line returns true when the reasons kept since from are those of a test that did not fail.
func (g *goScope) line(line []byte, kept int) bool {
	switch {
	case bytes.HasPrefix(line, []byte("=== RUN ")) && bytes.IndexByte(line, '/') < 0,
		bytes.HasPrefix(line, []byte("ok  \t")), bytes.HasPrefix(line, []byte("FAIL\t")):
		g.from, g.mixed = kept, false
	case bytes.HasPrefix(line, []byte("=== PAUSE ")), bytes.HasPrefix(line, []byte("=== CONT ")):
		g.mixed = true
	case bytes.HasPrefix(line, []byte("--- FAIL: ")):
		g.from = kept
	case bytes.HasPrefix(line, []byte("--- PASS: ")), bytes.HasPrefix(line, []byte("--- SKIP: ")):
		return !g.mixed && bytes.IndexByte(line, '/') < 0
	}
	return false
}

// best gives up to maxHighlights lines, those that say most first. A few places are left to the other ranks: ten lines
// of reasons are worth less than five with the names of the tests.
func (h *highlighter) best(r *redactor) []string {
	quota := [ranks]int{5, 2, 1}
	var picked [ranks]int
	left := maxHighlights
	for rank := range ranks {
		picked[rank] = min(quota[rank], len(h.kept[rank]))
		left -= picked[rank]
	}
	for rank := range ranks {
		more := min(left, len(h.kept[rank])-picked[rank])
		picked[rank] += more
		left -= more
	}
	var out []string
	for rank := range ranks {
		for _, k := range h.kept[rank][:picked[rank]] {
			text := clip(r.text(plain(k.text)), maxHighlightBytes)
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// A sign is a text that gives a line its rank.
type sign struct {
	text string
	rank int
}

// startSigns are at the start of a line, spaces aside.
var startSigns = sync.OnceValue(func() *[256][]sign {
	var table [256][]sign
	for _, s := range []sign{
		{"panic: ", rankWhy},
		{"E   ", rankWhy},
		{"error[", rankWhy},
		{"error: ", rankWhy},
		{"assertion `", rankWhy},
		{"--- FAIL: ", rankWhere},
		{"not ok ", rankWhere},
		{"FAIL: ", rankWhere},
		{"ERROR: ", rankWhere},
		{"FAILED ", rankWhere},
		{"✗", rankWhere},
		{"✕", rankWhere},
		{"✖", rankWhere},
		{"× ", rankWhere},
		{"● ", rankWhere},
		{"FAIL\t", rankThat},
		{"FAIL ", rankThat},
		{"npm ERR!", rankThat},
		{"npm error", rankThat},
		{"make: *** ", rankThat},
	} {
		table[s.text[0]] = append(table[s.text[0]], s)
	}
	return &table
})

// rankOf is -1 for a line that shows nothing. Where enough is known of why, not every line need be looked at so closely.
func rankOf(line []byte, enough bool) int {
	start := bytes.TrimLeft(line, " \t")
	if len(start) == 0 {
		return -1
	}
	for _, s := range startSigns()[start[0]] {
		if bytes.HasPrefix(start, []byte(s.text)) {
			return s.rank
		}
	}
	if bytes.Contains(line, []byte(" FAILED")) {
		return rankWhere
	}
	if !enough && (saysWhy(line) || isMessage(start)) {
		return rankWhy
	}
	return -1
}

func saysWhy(line []byte) bool {
	if i := bytes.Index(line, []byte("rror")); i >= 0 {
		for _, s := range []string{"Error: ", "error: ", "AssertionError", " error TS"} {
			if bytes.Contains(line, []byte(s)) {
				return true
			}
		}
	}
	return bytes.Contains(line, []byte("Exception: ")) || bytes.Contains(line, []byte("panicked at "))
}

// message is how a Go test says what is wrong, and the form of a compiler's message in most languages.
var message = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\w./\\@-]+\.\w+[:(]\d+(?:[:,]\d+)?\)?: \S`)
})

// isMessage takes a cheap look before the pattern: there is a dot in the line, and a position behind it.
func isMessage(start []byte) bool {
	dot := bytes.IndexByte(start, '.')
	if dot < 0 || dot > 200 {
		return false
	}
	i := bytes.IndexAny(start[dot:], ":(")
	at := dot + i + 1
	return i > 0 && at < len(start) && start[at] >= '0' && start[at] <= '9' && message().Match(start)
}
