package events

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// The form of a line is what encoding/json makes of an envelope, and a line may be anything that encoding/json reads as
// one. This file is the fast way to both: walking an envelope by reflection and compacting its payload a second time
// took longer than all the rest of making an event, and on reading ten times as long as checking its hash.

// appendLine appends what encode makes of e. The payload has to be compact already, as that of a draft is.
func appendLine(b []byte, e *envelope) ([]byte, error) {
	b = strconv.AppendUint(append(b, `{"seq":`...), e.Seq, 10)
	b = append(append(b, `,"id":"`...), make([]byte, ulid.EncodedSize)...)
	if err := ulid.ULID(e.ID).MarshalTextTo(b[len(b)-ulid.EncodedSize:]); err != nil {
		return nil, err
	}
	b, err := e.Time.AppendText(append(b, `","time":"`...))
	if err == nil {
		b, err = appendString(append(b, `","kind":`...), string(e.Kind))
	}
	if err != nil {
		return nil, err
	}
	b = strconv.AppendInt(append(b, `,"v":`...), int64(e.V), 10)
	b = hex.AppendEncode(append(b, `,"origin":"`...), e.Origin[:])
	b = hex.AppendEncode(append(b, `","prev":"`...), e.Prev[:])
	b = append(append(b, `","payload":`...), e.Payload...)
	if e.Seen != nil {
		if b, err = appendSeen(append(b, `,"seen":`...), e.Seen); err != nil {
			return nil, err
		}
	}
	if e.Seal != nil {
		seal, err := encode(e.Seal)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"seal":`...), seal...)
	}
	return append(b, '}'), nil
}

func appendSeen(b []byte, s *Seen) (_ []byte, err error) {
	name := func(name string) { b = append(append(append(b, '"'), name...), '"', ':') }
	text := func(n, v string) {
		if v != "" && err == nil {
			name(n)
			b, err = appendString(b, v)
			b = append(b, ',')
		}
	}
	number := func(n string, v int64) {
		if v != 0 {
			name(n)
			b = append(strconv.AppendInt(b, v, 10), ',')
		}
	}
	b = append(b, '{')
	text("agent", s.Agent)
	text("agent_version", s.AgentVersion)
	text("session", s.Session)
	text("turn", s.Turn)
	text("record", s.Record)
	number("block", int64(s.Block))
	number("ordinal", int64(s.Ordinal))
	text("source", s.Source)
	number("offset", s.Offset)
	text("line_sha256", s.LineSHA256)
	text("cwd", s.CWD)
	text("workspace", s.Workspace)
	if !s.At.IsZero() && err == nil {
		name("at")
		b, err = s.At.AppendText(append(b, '"'))
		b = append(b, '"', ',')
	}
	if err != nil {
		return nil, err
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// appendString appends s as a JSON string. What has to be escaped, or is not ASCII, is left to encoding/json.
func appendString(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if !plain(s[i]) {
			quoted, err := encode(s)
			return append(b, quoted...), err
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// plain reports whether a byte stands for itself in a JSON string, whatever is beside it.
func plain(c byte) bool { return ' ' <= c && c < 0x80 && c != '"' && c != '\\' }

// parseLine reads a line into an empty envelope, whose payload lies within the line. A line in the form that appendLine
// writes is read directly; any other is left to encoding/json, which also says what is wrong with a bad one.
func parseLine(line []byte, e *envelope) error {
	s := scanner{text: string(line)}
	if s.envelope(line, e) {
		return nil
	}
	*e = envelope{}
	return json.Unmarshal(line, e)
}

// A scanner takes compact JSON from a text. Its methods report whether what they want is next, and go past it. They may
// refuse what is good JSON, and never take what is none.
type scanner struct {
	text string
	at   int // what is before was taken; a number, because moving a pointer costs more when the collector runs
}

// envelope takes a whole line, which is what the text was made of.
func (s *scanner) envelope(line []byte, e *envelope) bool {
	ok := s.lit(`{"seq":`) && s.uint(&e.Seq, 18) &&
		s.lit(`,"id":`) && s.id(&e.ID) &&
		s.lit(`,"time":`) && s.time(&e.Time) &&
		s.lit(`,"kind":`) && s.plain((*string)(&e.Kind)) &&
		s.lit(`,"v":`) && s.int(&e.V) &&
		s.lit(`,"origin":`) && s.hash(&e.Origin) &&
		s.lit(`,"prev":`) && s.hash(&e.Prev) &&
		s.lit(`,"payload":`)
	if !ok {
		return false
	}
	start := s.at
	if ok = s.object(); ok {
		e.Payload = line[start:s.at:s.at]
	}
	if ok && s.lit(`,"seen":`) {
		start, e.Seen = s.at, new(Seen)
		if ok = s.object(); ok && !(&scanner{text: s.text[start:s.at]}).seen(e.Seen) {
			*e.Seen = Seen{}
			ok = json.Unmarshal(line[start:s.at], e.Seen) == nil
		}
	}
	if ok && s.lit(`,"seal":`) {
		start = s.at
		ok = s.object() && json.Unmarshal(line[start:s.at], &e.Seal) == nil
	}
	return ok && s.lit("}") && s.at == len(s.text)
}

// seen takes a whole object with the members of a Seen, each of them in its place or absent.
func (s *scanner) seen(v *Seen) bool {
	var offset uint64
	ok := s.lit(`{`) &&
		(!s.lit(`"agent":`) || s.plain(&v.Agent) && s.comma()) &&
		(!s.lit(`"agent_version":`) || s.plain(&v.AgentVersion) && s.comma()) &&
		(!s.lit(`"session":`) || s.plain(&v.Session) && s.comma()) &&
		(!s.lit(`"turn":`) || s.plain(&v.Turn) && s.comma()) &&
		(!s.lit(`"record":`) || s.plain(&v.Record) && s.comma()) &&
		(!s.lit(`"block":`) || s.int(&v.Block) && s.comma()) &&
		(!s.lit(`"ordinal":`) || s.int(&v.Ordinal) && s.comma()) &&
		(!s.lit(`"source":`) || s.plain(&v.Source) && s.comma()) &&
		(!s.lit(`"offset":`) || s.uint(&offset, 18) && s.comma()) &&
		(!s.lit(`"line_sha256":`) || s.plain(&v.LineSHA256) && s.comma()) &&
		(!s.lit(`"cwd":`) || s.plain(&v.CWD) && s.comma()) &&
		(!s.lit(`"workspace":`) || s.plain(&v.Workspace) && s.comma()) &&
		(!s.lit(`"at":`) || s.time(&v.At) && s.comma())
	v.Offset = int64(offset)
	return ok && s.lit("}") && s.at == len(s.text)
}

// comma takes the comma after a member, or sees that it is the last one. That none stands before the end is known from
// object.
func (s *scanner) comma() bool { return s.byte(',') || s.next('}') }

func (s *scanner) lit(text string) bool {
	if !strings.HasPrefix(s.text[s.at:], text) {
		return false
	}
	s.at += len(text)
	return true
}

func (s *scanner) next(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

func (s *scanner) byte(c byte) bool {
	if !s.next(c) {
		return false
	}
	s.at++
	return true
}

// plain takes a string that needs no decoding.
func (s *scanner) plain(to *string) bool {
	if !s.byte('"') {
		return false
	}
	start := s.at
	for s.at < len(s.text) && plain(s.text[s.at]) {
		s.at++
	}
	*to = s.text[start:s.at]
	return s.byte('"')
}

// uint takes a whole number of at most so many digits. What follows is for the caller to check.
func (s *scanner) uint(to *uint64, digits int) bool {
	start := s.at
	if !s.digits() || s.at-start > digits || s.text[start] == '0' && s.at-start > 1 {
		return false
	}
	var err error
	*to, err = strconv.ParseUint(s.text[start:s.at], 10, 64)
	return err == nil
}

func (s *scanner) int(to *int) bool {
	var v uint64
	ok := s.uint(&v, 9)
	*to = int(v)
	return ok
}

func (s *scanner) time(to *time.Time) bool {
	var text string
	return s.plain(&text) && to.UnmarshalText([]byte(text)) == nil
}

func (s *scanner) id(to *ID) bool {
	var text string
	if !s.plain(&text) {
		return false
	}
	id, err := ParseID(text)
	*to = id
	return err == nil
}

func (s *scanner) hash(to *Hash) bool {
	var text string
	if !s.plain(&text) || len(text) != hex.EncodedLen(len(to)) {
		return false
	}
	_, err := hex.Decode(to[:], []byte(text))
	return err == nil
}

// maxNesting is far below what encoding/json reads.
const maxNesting = 100

func (s *scanner) object() bool { return s.next('{') && s.value(0) }

// value takes any value.
func (s *scanner) value(depth int) bool {
	if s.at >= len(s.text) || depth > maxNesting {
		return false
	}
	switch s.text[s.at] {
	case '{':
		return s.list('}', depth)
	case '[':
		return s.list(']', depth)
	case '"':
		return s.str()
	case 't':
		return s.lit("true")
	case 'f':
		return s.lit("false")
	case 'n':
		return s.lit("null")
	default:
		return s.number()
	}
}

// list takes an object or an array, which ends with the given byte.
func (s *scanner) list(end byte, depth int) bool {
	s.at++
	if s.byte(end) {
		return true
	}
	for {
		if end == '}' && !(s.str() && s.byte(':')) {
			return false
		}
		if !s.value(depth + 1) {
			return false
		}
		if s.byte(end) {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// str takes any string.
func (s *scanner) str() bool {
	if !s.byte('"') {
		return false
	}
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(s.text[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape returns the length of what may stand after a backslash, 0 when it may not.
func escape(s string) int {
	switch {
	case s == "":
		return 0
	case strings.IndexByte(`"\/bfnrt`, s[0]) >= 0:
		return 1
	case s[0] != 'u' || len(s) < 5:
		return 0
	}
	for _, c := range []byte(s[1:5]) {
		if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return 0
		}
	}
	return 5
}

// number takes any number.
func (s *scanner) number() bool {
	s.byte('-')
	if !s.byte('0') && !s.digits() {
		return false
	}
	if s.byte('.') && !s.digits() {
		return false
	}
	if s.byte('e') || s.byte('E') {
		if !s.byte('+') {
			s.byte('-')
		}
		return s.digits()
	}
	return true
}

// digits takes one digit or more.
func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}
