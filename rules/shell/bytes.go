package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxBytes   = 8 << 10
	maxNesting = 32
	maxNodes   = 2000
	maxCalls   = 64
	maxWords   = 512 // what brace expansion may make of one word
	maxFolders = 16  // where a command may run after several cd
	maxShells  = 3   // sh -c inside sh -c
	maxShown   = 80  // bytes of a word quoted in a refusal
)

// checkBytes refuses what a parser and a person may read differently: control and invisible characters, odd spaces, text
// that is not UTF-8. It also bounds size and nesting, because the parser recurses without a limit and a Go stack overflow
// cannot be recovered.
func checkBytes(text string) *Refusal {
	if len(text) > maxBytes {
		return &Refusal{Code: "too_long", Line: 1, Col: 1, Word: fmt.Sprintf("%d bytes", len(text))}
	}
	line, col := 1, 1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if code := badRune(r, n); code != "" {
			return &Refusal{Code: code, Line: line, Col: col, Word: fmt.Sprintf("%q", text[i:i+n])}
		}
		i += n
		col += n
		if r == '\n' {
			line, col = line+1, 1
		}
	}
	return checkNesting(text)
}

func badRune(r rune, n int) string {
	switch {
	case r == utf8.RuneError && n <= 1:
		return "not_utf8"
	case r == '\t' || r == '\n' || (r >= ' ' && r < 0x7f):
		return ""
	case unicode.IsControl(r):
		return "control_character"
	case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Co, r):
		return "invisible_character"
	case unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || r == '\u2800' || r == '\u3164' || r == '\u115f' || r == '\u1160':
		return "odd_space"
	}
	return ""
}

// checkNesting counts brackets without regard to quotes: it may refuse a strange regular expression, never let a deep
// tree through. Closers hidden in quotes cannot gain more than maxBytes/4 levels, which the parser survives.
func checkNesting(text string) *Refusal {
	depth, line, start := 0, 1, 0
	for i := range len(text) {
		switch text[i] {
		case '\n':
			line, start = line+1, i+1
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return &Refusal{Code: "too_deep", Line: line, Col: i - start + 1, Word: string(text[i])}
		}
	}
	return nil
}

func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
