package runner

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// plain is s without terminal control: escape sequences, and control characters other than tab, line feed and carriage
// return. What is not UTF-8 becomes U+FFFD.
func plain(s string) string {
	if strings.IndexFunc(s, isControl) < 0 && utf8.ValidString(s) {
		return s
	}
	return string(appendPlain(make([]byte, 0, len(s)), []byte(s)))
}

// plainLine is plain for one line of output. It returns line itself where there is nothing to take out, and uses buf
// otherwise.
func plainLine(buf, line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return appendPlain(buf[:0], line)
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0
}

func appendPlain(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		switch {
		case r == 0x1b:
			n = escapeLen(src)
		case r == 0x9b:
			n += csiLen(src[n:])
		case isControl(r):
		default:
			dst = utf8.AppendRune(dst, r)
		}
		src = src[n:]
	}
	return dst
}

// escapeLen is the length of the escape sequence that b starts with. A sequence never reaches past the end of the line:
// one that was cut off must not swallow the rest of the output.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		return 2 + csiLen(b[2:])
	case ']', 'P', 'X', '^', '_':
		return 2 + stringLen(b[2:])
	}
	n := 1
	for n < len(b) && b[n] >= 0x20 && b[n] <= 0x2f {
		n++
	}
	if n < len(b) && b[n] >= 0x30 && b[n] <= 0x7e {
		n++
	}
	return n
}

// csiLen is the length of what follows a control sequence introducer.
func csiLen(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= 0x20 && b[n] <= 0x3f {
		n++
	}
	if n < len(b) && b[n] >= 0x40 && b[n] <= 0x7e {
		n++
	}
	return n
}

// stringLen is the length of a control string, up to and with its terminator.
func stringLen(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			return i
		case c == 0x07:
			return i + 1
		case c == 0x1b && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		}
	}
	return len(b)
}

// jsonLen is the most that c takes up in JSON, under any of the usual encoders.
func jsonLen(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < 0x20, r == '<', r == '>', r == '&', r == 0x2028, r == 0x2029, r == 0x7f:
		return 6
	}
	return utf8.RuneLen(r)
}

// cutTo cuts s, which is valid UTF-8, so that its JSON form takes at most limit bytes.
func cutTo(s string, limit int) string {
	for i, r := range s {
		if limit -= jsonLen(r); limit < 0 {
			return s[:i]
		}
	}
	return s
}

// cutFront is cutTo from the other end.
func cutFront(s string, limit int) string {
	for i := len(s); i > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if limit -= jsonLen(r); limit < 0 {
			return s[i:]
		}
		i -= n
	}
	return s
}

// clip cuts a line to at most limit bytes, whole characters only, and shows that it did.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit -= len("…")
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
