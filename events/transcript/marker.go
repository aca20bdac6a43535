package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dalkkak/dkgraph/events"
)

// A Found is a marker in a text, or what looks like one.
type Found struct {
	Tag     string // TagNode, TagSummary or TagVerify
	Body    string // the JSON between the tags, without the white space around it
	Raw     string // the whole of it with its tags; of a look-alike at most the first events.MaxRawBytes
	Offset  int    // of its first byte in the text
	Ordinal int    // its place among all that were found in the text, from 0
	Reason  string // "" for a marker that counts, else a code of the package's table
	Detail  string // what is wrong, for people

	payload any // events.Node, Summary or Claim when Reason is ""
}

// Scan returns the markers in a text of the assistant's, and what looks like one, in order. The text is Markdown.
func Scan(text string) []Found {
	var all []Found
	scan(text, 0, func(f Found) { all = append(all, f) })
	return all
}

// Draft drafts what was found. Ordinal is set in seen.
func (f Found) Draft(seen events.Seen) (events.Draft, error) {
	seen.Ordinal = f.Ordinal
	switch p := f.payload.(type) {
	case events.Node:
		return events.NodeNoted(p, seen)
	case events.Summary:
		return events.SummaryNoted(p, seen)
	case events.Claim:
		return events.ClaimMade(p, seen)
	}
	if f.Reason == "" {
		return events.Draft{}, errors.New("marker does not come from Scan")
	}
	return events.MarkerIgnored(events.Ignored{Marker: f.Tag, Reason: f.Reason, Detail: f.Detail, Raw: f.Raw}, seen)
}

// reject makes a look-alike of a marker.
func (f Found) reject(reason, detail string) Found {
	f.Reason, f.Detail, f.payload = reason, detail, nil
	f.Raw = clip(f.Raw, events.MaxRawBytes)
	return f
}

// clip cuts s to at most n bytes, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// scan is Scan for texts of any size: nothing is kept. ordinal is that of the first marker.
func scan(text string, ordinal int, yield func(Found)) {
	s := scanner{text: []byte(text), ordinal: ordinal, yield: yield}
	if s.seek(0); !s.more {
		return
	}
	eachRegion(s.text, s.region)
}

// scanElsewhere finds what looks like a marker in a text that is not the assistant's, and returns the next ordinal.
func scanElsewhere(text, reason string, ordinal int, yield func(Found)) int {
	s := scanner{text: []byte(text), ordinal: ordinal, yield: yield}
	s.seek(0)
	s.all(0, len(s.text), reason)
	return s.ordinal
}

// A scanner goes through a text once, from tag to tag, with the regions of the text beside it.
type scanner struct {
	text    []byte
	yield   func(Found)
	ordinal int

	tag  tag // the next one that was not looked at, if there is more
	more bool

	done   int // up to here everything belongs to whole markers that were taken
	nested int // up to here everything is within a broken marker
}

// seek makes the first tag at or after i the next one.
func (s *scanner) seek(i int) {
	if !s.more && i > 0 || s.more && s.tag.start >= i {
		return
	}
	s.tag, s.more = nextTag(s.text, i)
}

// before reports whether there is a tag that starts before end.
func (s *scanner) before(end int) bool { return s.more && s.tag.start < end }

func (s *scanner) region(r region) {
	switch {
	case !s.before(r.end):
	case r.quoted:
		s.all(r.start, r.end, reasonQuoted)
	case r.kind == regionCode:
		s.all(r.start, r.end, reasonFenced)
	case r.kind == regionComment:
		s.all(r.start, r.end, reasonComment)
	default:
		s.inline(r.start, r.end)
	}
}

// all takes every tag up to end, for one reason.
func (s *scanner) all(start, end int, reason string) {
	for s.seek(start); s.before(end); {
		s.take(reason)
	}
}

// take yields the next tag with its body, and goes on behind it. reason says why it does not count, if that is known.
func (s *scanner) take(reason string) {
	t := s.tag
	x := s.extent(t)
	f := Found{
		Tag: t.name, Body: string(s.text[x.body:x.bodyEnd]), Raw: string(s.text[t.start:x.end]),
		Offset: t.start, Ordinal: s.ordinal,
	}
	s.ordinal++
	detail := ""
	if reason == "" {
		reason, detail = s.judge(t, x)
		if x.closed && x.braced && !x.whole {
			s.nested = max(s.nested, x.end)
		}
	}
	if reason == "" {
		f.payload, reason, detail = decode(t.name, f.Body)
	}
	if reason == reasonQuoted && s.firstOnLine(t.start) {
		detail = "the line goes on with the block quote above; a blank line would end it"
	}
	if reason != "" {
		f = f.reject(reason, detail)
	}
	s.yield(f)
	if x.whole {
		s.done = x.end
	}
	s.seek(max(s.done, t.end))
}

// judge returns why a marker does not count by its form and place, "" if its body is the next to be asked.
func (s *scanner) judge(t tag, x extent) (reason, detail string) {
	first := s.firstOnLine(t.start)
	switch {
	case t.start < s.nested:
		return reasonNested, ""
	case t.bad != "":
		return reasonBadTag, t.bad
	case !x.closed && (x.braced || first):
		return reasonUnclosed, ""
	case !first && !(x.closed && s.lastOnLine(x.end)):
		return reasonMid, ""
	case x.bodyEnd-x.body > events.MaxMarkerBytes:
		return reasonOversize, fmt.Sprintf("%d bytes, the limit is %d", x.bodyEnd-x.body, events.MaxMarkerBytes)
	case !x.whole:
		return reasonMalformed, s.syntax(x)
	}
	return "", ""
}

// syntax says where the body is no JSON object.
func (s *scanner) syntax(x extent) string {
	if !x.braced {
		return "the body is not a JSON object"
	}
	end, ok := skipObject(s.text[:x.bodyEnd], x.body, markerLevels, nil)
	if ok {
		return "there is something after the JSON object"
	}
	return fmt.Sprintf("the JSON breaks at byte %d of the body", end-x.body)
}

// An extent says how far a marker reaches.
type extent struct {
	body, bodyEnd int
	end           int  // behind the closing tag, or behind what is shown of a marker without one
	braced        bool // the body starts like an object, or like another marker
	whole         bool // one JSON object and the closing tag
	closed        bool // there is a closing tag
}

// extent finds the end of the marker that t opens. The closing tag may stand in a string of the JSON, so the JSON is
// read first.
func (s *scanner) extent(t tag) extent {
	x := extent{body: skipSpace(s.text, t.end)}
	if end := s.wholeEnd(t); end > 0 {
		x.end, x.whole, x.closed, x.braced = end, true, true, true
		x.bodyEnd = len(bytes.TrimRight(s.text[:end-len(t.name)-3], " \t\r\n"))
		return x
	}
	rest := s.text[x.body:]
	_, wraps := tagAtStart(rest)
	x.braced = wraps || len(rest) > 0 && rest[0] == '{'
	if at := s.closing(t, x.braced); at >= 0 {
		x.end, x.closed = at+len(t.name)+3, true
		x.bodyEnd = max(x.body, len(bytes.TrimRight(s.text[:at], " \t\r\n")))
		return x
	}
	x.end = s.shown(t)
	x.body = min(x.body, x.end)
	x.bodyEnd = x.end
	return x
}

func tagAtStart(b []byte) (tag, bool) {
	if len(b) == 0 || b[0] != '<' {
		return tag{}, false
	}
	return tagAt(b, 0)
}

// wholeEnd returns the end of the marker that t opens if its body is one JSON object and its closing tag follows, else
// 0. It depends on nothing before t.
func (s *scanner) wholeEnd(t tag) int {
	i := skipSpace(s.text, t.end)
	if t.bad != "" || i >= len(s.text) || s.text[i] != '{' {
		return 0
	}
	i, ok := skipObject(s.text, i, markerLevels, nil)
	if !ok {
		return 0
	}
	if i = skipSpace(s.text, i); !hasTag(s.text[i:], "</", t.name) {
		return 0
	}
	return i + len(t.name) + 3
}

// maxTagsAhead bounds the search for the closing tag of a broken marker.
const maxTagsAhead = 16

// closing returns the index of the tag that closes t, -1 if there is none. Whole markers and pairs of tags on the way
// keep their own. A mention without a body does not reach over another tag.
func (s *scanner) closing(t tag, braced bool) int {
	if t.bad != "" {
		return -1
	}
	limit := min(len(s.text), t.end+2*events.MaxMarkerBytes)
	depth := 1
	for i, n := t.end, 0; n < maxTagsAhead; n++ {
		j := bytes.Index(s.text[i:limit], []byte(t.name+">"))
		if j < 0 {
			return -1
		}
		at := i + j
		i = at + len(t.name) + 1
		switch {
		case s.text[at-1] == '<':
			if !braced {
				return -1
			}
			depth++
			if end := s.wholeEnd(tag{name: t.name, end: i}); end > 0 {
				depth--
				i = min(end, limit)
			}
		case j >= 2 && s.text[at-1] == '/' && s.text[at-2] == '<':
			if depth--; depth == 0 {
				return at - 2
			}
		}
	}
	return -1
}

// shown returns how much is shown of a marker whose end is not known: up to the end of the line or the next tag.
func (s *scanner) shown(t tag) int {
	end := min(len(s.text), t.end+events.MaxRawBytes)
	if n := bytes.IndexAny(s.text[t.end:end], "\r\n"); n >= 0 {
		end = t.end + n
	}
	if next, ok := nextTag(s.text[:end], t.end); ok {
		end = next.start
	}
	return end
}

// firstOnLine reports whether only white space stands before i on its line.
func (s *scanner) firstOnLine(i int) bool {
	for i > 0 {
		r, size := utf8.DecodeLastRune(s.text[:i])
		if r == '\n' || r == '\r' {
			return true
		}
		if !unicode.IsSpace(r) {
			return false
		}
		i -= size
	}
	return true
}

// lastOnLine reports whether only white space stands at and after i on its line.
func (s *scanner) lastOnLine(i int) bool {
	for i < len(s.text) {
		r, size := utf8.DecodeRune(s.text[i:])
		if r == '\n' || r == '\r' {
			return true
		}
		if !unicode.IsSpace(r) {
			return false
		}
		i += size
	}
	return true
}
