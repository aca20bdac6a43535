package shell

import (
	"strings"
	"unicode/utf8"
)

// decodeANSI decodes the inside of $'…'. It knows the escapes whose meaning is the same in every bash; \u, \U and \c, and
// whatever would make a NUL or text that is not UTF-8, it does not decode.
func decodeANSI(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		c, n := ansiEscape(s[i+1:])
		if n == 0 || c == 0 {
			return "", false
		}
		b.WriteByte(c)
		i += n
	}
	return b.String(), utf8.ValidString(b.String())
}

// ansiEscape decodes one escape after its backslash and says how many bytes it took; 0 means not known.
func ansiEscape(s string) (byte, int) {
	if s == "" {
		return 0, 0
	}
	switch c := s[0]; c {
	case '\\', '\'', '"', '?':
		return c, 1
	case 'a', 'b', 'e', 'E', 'f', 'n', 'r', 't', 'v':
		return map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}[c], 1
	case 'x':
		v, n := digits(s[1:], 16, 2)
		if n == 0 {
			return 0, 0
		}
		return byte(v), n + 1
	default:
		v, n := digits(s, 8, 3)
		return byte(v), n
	}
}

// digits reads at most limit digits; an octal value wraps at a byte as bash does.
func digits(s string, base, limit int) (value, n int) {
	for n < limit && n < len(s) {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] < '0' || d < 0 || d >= base {
			break
		}
		value, n = value*base+d, n+1
	}
	return value & 0xff, n
}
