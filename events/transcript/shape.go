package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dalkkak/dkgraph/events"
)

// decode reads the body of a marker, which is one JSON object, into the payload of its event. reason is "" if it is
// one that can be drafted.
func decode(tag, body string) (payload any, reason, detail string) {
	b := []byte(body)
	switch {
	case !utf8.Valid(b):
		return nil, reasonMalformed, "not UTF-8"
	case loneSurrogate(b):
		return nil, reasonMalformed, "half of a surrogate pair"
	}
	if key, found := duplicateKey(b); found {
		return nil, reasonDuplicate, fmt.Sprintf("%q", clip(key, events.MaxLabelBytes))
	}
	f := fields{}
	if err := json.Unmarshal(b, &f.raw); err != nil {
		return nil, reasonMalformed, err.Error()
	}
	// The constructor is asked now, so that what it refuses is ignored with a reason and not an error later. What it
	// says does not depend on where the marker was seen.
	var err error
	switch tag {
	case TagNode:
		n := f.node(body)
		_, err = events.NodeNoted(n, events.Seen{})
		payload = n
	case TagSummary:
		s := events.Summary{Kind: f.str("kind"), Data: f.object("data"), Raw: body}
		_, err = events.SummaryNoted(s, events.Seen{})
		payload = s
	default:
		c := f.claim(body)
		_, err = events.ClaimMade(c, events.Seen{})
		payload = c
	}
	if f.err != nil {
		err = f.err
	}
	if err != nil {
		return nil, refusal(err), err.Error()
	}
	return payload, "", ""
}

func refusal(err error) string {
	switch {
	case errors.Is(err, events.ErrStoreOnly):
		return reasonForbidden
	case errors.Is(err, events.ErrNoEvidence):
		return reasonNoEvidence
	case errors.Is(err, events.ErrOversize):
		return reasonOversize
	}
	return reasonShape
}

// fields are those of a marker. Names are exact: encoding/json would take "ID" for "id". err is the first field of a
// wrong type.
type fields struct {
	raw map[string]json.RawMessage
	err error
}

func (f *fields) claim(body string) events.Claim {
	return events.Claim{
		ClaimID: f.str("id"), Text: f.str("claim"), Kind: f.str("kind"), Verify: f.str("verify"), CWD: f.str("cwd"),
		Expect: f.compact("expect", `"{-0123456789`, "a number, a string or an object"),
		About:  f.list("about"), Raw: body,
	}
}

func (f *fields) node(body string) events.Node {
	n := events.Node{
		NodeType: f.str("node_type"), Key: f.str("key"), Title: f.str("title"), Body: f.str("body"),
		Provenance: f.str("provenance"), Edges: f.edges("edges"), Raw: body,
	}
	if n.Provenance != "confirmed" {
		n.Evidence = f.object("evidence")
		return n
	}
	// Whatever stands there, if it is no object with something in it, it is no evidence.
	if v := f.raw["evidence"]; len(v) > 0 && v[0] == '{' && !isEmptyObject(v) {
		n.Evidence = f.object("evidence")
	}
	return n
}

func isEmptyObject(v []byte) bool { return len(bytes.Trim(v, "{} \t\r\n")) == 0 }

// wrong notes that key is not what was wanted.
func (f *fields) wrong(key, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: %s is not %s", events.ErrShape, key, want)
	}
}

// str returns the string that key has, "" if it is absent.
func (f *fields) str(key string) string {
	v, ok := f.raw[key]
	if !ok {
		return ""
	}
	s, ok := unquote(v)
	if !ok {
		f.wrong(key, "a string")
	}
	return s
}

// list returns the strings that key has: one, or a list of them.
func (f *fields) list(key string) []string {
	v, ok := f.raw[key]
	if !ok {
		return nil
	}
	if s, ok := unquote(v); ok {
		return []string{s}
	}
	var raw []json.RawMessage
	if v[0] != '[' || json.Unmarshal(v, &raw) != nil {
		f.wrong(key, "a string or a list of strings")
	}
	var all []string
	for _, e := range raw {
		s, ok := unquote(e)
		if !ok {
			f.wrong(key, "a string or a list of strings")
		}
		all = append(all, s)
	}
	return all
}

// object returns the object that key has without white space, nil if it is absent.
func (f *fields) object(key string) json.RawMessage { return f.compact(key, "{", "an object") }

// compact returns the value of key without white space, nil if it is absent. It must start with one of the bytes.
func (f *fields) compact(key, starts, want string) json.RawMessage {
	v, ok := f.raw[key]
	if !ok {
		return nil
	}
	var b bytes.Buffer
	if strings.IndexByte(starts, v[0]) < 0 || json.Compact(&b, v) != nil {
		f.wrong(key, want)
		return nil
	}
	return b.Bytes()
}

// edges returns the list of objects with the strings kind and to that key has.
func (f *fields) edges(key string) []events.NodeEdge {
	v, ok := f.raw[key]
	if !ok {
		return nil
	}
	var raw []map[string]json.RawMessage
	if v[0] != '[' || json.Unmarshal(v, &raw) != nil {
		f.wrong(key, "a list of objects")
		return nil
	}
	var all []events.NodeEdge
	for _, m := range raw {
		e := fields{raw: m}
		all = append(all, events.NodeEdge{Kind: e.str("kind"), To: e.str("to")})
		if e.err != nil {
			f.wrong(key, "a list of objects with the strings kind and to")
		}
	}
	return all
}
