package transcript

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tags of the three markers.
const (
	TagNode    = "dk-node"
	TagSummary = "dk-summary"
	TagVerify  = "dk-verify"
)

// A tag is an opening tag in a text, or what looks like one.
type tag struct {
	name       string
	start, end int
	bad        string // what is wrong with it, for people; "" for an exact tag
}

// maxTagBytes bounds the search for the end of something that may be a tag.
const maxTagBytes = 256

// nextTag returns the first tag at or after i.
func nextTag(b []byte, i int) (tag, bool) {
	for {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return tag{}, false
		}
		i += n
		if t, ok := tagAt(b, i); ok {
			return t, true
		}
		i++
	}
}

// tagAt reads the tag that starts at b[i], a <.
func tagAt(b []byte, i int) (tag, bool) {
	for _, name := range [...]string{TagVerify, TagNode, TagSummary} {
		if hasTag(b[i:], "<", name) {
			return tag{name: name, start: i, end: i + len(name) + 2}, true
		}
	}
	return looseTag(b[i:min(len(b), i+maxTagBytes)], i)
}

// hasTag reports whether b starts with the exact tag that opens with open, which is < or </.
func hasTag(b []byte, open, name string) bool {
	n := len(open) + len(name)
	return len(b) > n && string(b[:len(open)]) == open && string(b[len(open):n]) == name && b[n] == '>'
}

// looseTag reads a tag that is not exact. b starts with its <.
func looseTag(b []byte, start int) (tag, bool) {
	var name strings.Builder
	bad := ""
	for i := 1; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == '>' {
			return tag{name: name.String(), start: start, end: start + i + 1, bad: bad}, isTag(name.String())
		}
		switch low := unicode.ToLower(r); {
		case isTag(name.String()) && (unicode.IsSpace(r) || r == '/'):
			n := bytes.IndexAny(b[i:], "<>")
			if n < 0 || b[i+n] != '>' {
				return tag{}, false
			}
			bad = "attributes or white space in the tag"
			return tag{name: name.String(), start: start, end: start + i + n + 1, bad: bad}, true
		case unicode.IsSpace(r):
			bad = "white space in the tag"
		case unicode.Is(unicode.Cf, r):
			bad = "invisible characters in the tag"
		case 'a' <= low && low <= 'z':
			if low != r {
				bad = "upper case in the tag"
			}
			name.WriteRune(low)
		case unicode.Is(unicode.Pd, r):
			if r != '-' {
				bad = "another dash in the tag"
			}
			name.WriteByte('-')
		default:
			return tag{}, false
		}
		if !mayBeTag(name.String()) {
			return tag{}, false
		}
		i += size
	}
	return tag{}, false
}

func isTag(name string) bool { return name == TagNode || name == TagSummary || name == TagVerify }

func mayBeTag(prefix string) bool {
	return strings.HasPrefix(TagNode, prefix) || strings.HasPrefix(TagSummary, prefix) ||
		strings.HasPrefix(TagVerify, prefix)
}
