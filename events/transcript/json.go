package transcript

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The functions of this file walk JSON without building values: most lines of a transcript are looked at only to know
// that they are whole, and a marker's end must be found before its text can be decoded. Each takes the index of the
// value and returns the index after it, or the index at which the grammar breaks and false. left is how many levels of
// nesting are still allowed.

const (
	lineLevels   = 10_000 // as encoding/json allows
	markerLevels = 64
)

// skipSpace returns the index of the first byte at or after i that is not JSON's white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func skipValue(b []byte, i, left int) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipObject(b, i, left, nil)
	case c == '[':
		return skipArray(b, i, left, nil)
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return i, false
}

// skipObject calls visit, if there is one, with each key (in its quotes) and value.
func skipObject(b []byte, i, left int, visit func(key, value []byte)) (int, bool) {
	if left == 0 {
		return i, false
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for ok := false; ; i = skipSpace(b, i+1) {
		key := i
		if i >= len(b) || b[i] != '"' {
			return i, false
		}
		if i, ok = skipString(b, i); !ok {
			return i, false
		}
		keyEnd := i
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return i, false
		}
		value := skipSpace(b, i+1)
		if i, ok = skipValue(b, value, left-1); !ok {
			return i, false
		}
		if visit != nil {
			visit(b[key:keyEnd], b[value:i])
		}
		if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
			return i + 1, true
		}
		if i >= len(b) || b[i] != ',' {
			return i, false
		}
	}
}

// skipArray calls visit, if there is one, with each element.
func skipArray(b []byte, i, left int, visit func(value []byte)) (int, bool) {
	if left == 0 {
		return i, false
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for ok := false; ; i = skipSpace(b, i+1) {
		value := i
		if i, ok = skipValue(b, i, left-1); !ok {
			return i, false
		}
		if visit != nil {
			visit(b[value:i])
		}
		if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
			return i + 1, true
		}
		if i >= len(b) || b[i] != ',' {
			return i, false
		}
	}
}

// skipString takes any byte but control characters, as encoding/json does: what is not UTF-8 is replaced when decoded.
func skipString(b []byte, i int) (int, bool) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			end, ok := skipEscape(b, i)
			if !ok {
				return end, false
			}
			i = end - 1
		}
	}
	return i, false
}

func skipEscape(b []byte, i int) (int, bool) {
	if i++; i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, true
	case 'u':
		for range 4 {
			if i++; i >= len(b) || hexDigit(b[i]) < 0 {
				return i, false
			}
		}
		return i + 1, true
	}
	return i, false
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func skipNumber(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	ok := false
	if i < len(b) && b[i] == '0' {
		i, ok = i+1, true
	} else {
		i, ok = skipDigits(b, i)
	}
	if ok && i < len(b) && b[i] == '.' {
		i, ok = skipDigits(b, i+1)
	}
	if ok && i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		i, ok = skipDigits(b, i)
	}
	return i, ok
}

// skipDigits wants at least one.
func skipDigits(b []byte, i int) (int, bool) {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i, i > start
}

func skipWord(b []byte, i int, word string) (int, bool) {
	for j := range len(word) {
		if i >= len(b) || b[i] != word[j] {
			return i, false
		}
		i++
	}
	return i, true
}

// unquote decodes a JSON string, given with its quotes; false if it is something else.
func unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : len(value)-1]), true
	}
	var s string
	return s, json.Unmarshal(value, &s) == nil
}

// eachString calls visit with every string within a JSON value, keys not counted, in order.
func eachString(value []byte, visit func(s string)) {
	if len(value) == 0 {
		return
	}
	switch value[0] {
	case '"':
		if s, ok := unquote(value); ok {
			visit(s)
		}
	case '{', '[':
		// A walk over the bytes, because a walk by levels would read deep values many times. In an object a string is a
		// key when a colon follows.
		for i := 0; i < len(value); i++ {
			if value[i] != '"' {
				continue
			}
			end, ok := skipString(value, i)
			if !ok {
				return
			}
			if next := skipSpace(value, end); next >= len(value) || value[next] != ':' {
				eachString(value[i:end], visit)
			}
			i = end - 1
		}
	}
}

// duplicateKey returns a key that stands twice in one object, at any depth of a valid value, in its decoded form.
func duplicateKey(value []byte) (key string, found bool) {
	inner := func(v []byte) {
		if !found && len(v) > 0 && (v[0] == '{' || v[0] == '[') {
			key, found = duplicateKey(v)
		}
	}
	switch value[0] {
	case '{':
		seen := map[string]bool{}
		skipObject(value, 0, markerLevels, func(k, v []byte) {
			inner(v)
			if name, _ := unquote(k); !found && seen[name] {
				key, found = name, true
			} else {
				seen[name] = true
			}
		})
	case '[':
		skipArray(value, 0, markerLevels, inner)
	}
	return key, found
}

// loneSurrogate reports whether a valid JSON text escapes half of a surrogate pair, which no decoder can keep.
func loneSurrogate(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		r := escapedUnit(b, i)
		switch {
		case 0xDC00 <= r && r < 0xE000:
			return true
		case 0xD800 <= r && r < 0xDC00:
			if low := escapedUnit(b, i+6); low < 0xDC00 || low >= 0xE000 {
				return true
			}
			i += 11
		case r >= 0:
			i += 5
		default:
			i++
		}
	}
	return false
}

// escapedUnit reads the \uXXXX at b[i:], -1 if there is none.
func escapedUnit(b []byte, i int) int {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return -1
	}
	r := 0
	for _, c := range b[i+2 : i+6] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | d
	}
	return r
}
