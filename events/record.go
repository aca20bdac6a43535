package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A Record is an event as the log holds it. Only a [Log] makes one, after checking hash, chain and seal, so holding a
// Record is proof that the event is in a log. Its zero value is refused everywhere.
type Record struct {
	line      []byte
	hash      Hash
	env       envelope
	logOrigin string
}

// An envelope is the JSON form of an event, see the package documentation.
type envelope struct {
	Seq     uint64          `json:"seq"`
	ID      ID              `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    Kind            `json:"kind"`
	V       int             `json:"v"`
	Origin  Hash            `json:"origin"`
	Prev    Hash            `json:"prev"`
	Payload json.RawMessage `json:"payload"`
	Seen    *Seen           `json:"seen,omitempty"`
	Seal    *Seal           `json:"seal,omitempty"`
}

const eventVersion = 1

// IsZero reports whether r is the zero Record, which stands for no event at all.
func (r Record) IsZero() bool { return r.env.Seq == 0 }

// Seq returns the record's place in the log, from 1.
func (r Record) Seq() uint64 { return r.env.Seq }

// ID returns the record's ULID.
func (r Record) ID() ID { return r.env.ID }

// Time returns when the log recorded it.
func (r Record) Time() time.Time { return r.env.Time }

// Kind returns what it is about.
func (r Record) Kind() Kind { return r.env.Kind }

// Origin returns the key under which the log knows it for ever.
func (r Record) Origin() Hash { return r.env.Origin }

// Hash returns the hash of its line, see [LeafHash].
func (r Record) Hash() Hash { return r.hash }

// Prev returns the hash of the record before it.
func (r Record) Prev() Hash { return r.env.Prev }

// LogOrigin names the log that holds it.
func (r Record) LogOrigin() string { return r.logOrigin }

// Ref returns a reference to it.
func (r Record) Ref() Ref { return Ref{Seq: r.env.Seq, Hash: r.hash} }

// Line returns a copy of its bytes, without a line end.
func (r Record) Line() []byte { return slices.Clone(r.line) }

// Payload returns a copy of its payload as JSON.
func (r Record) Payload() json.RawMessage { return slices.Clone(r.env.Payload) }

// Seen returns where it was seen; the zero value if nowhere.
func (r Record) Seen() Seen {
	if r.env.Seen == nil {
		return Seen{}
	}
	return *r.env.Seen
}

// Sealed reports whether it carries a seal, which was checked.
func (r Record) Sealed() bool { return r.env.Seal != nil }

// Decode returns the payload of r, which must be of T's kind; otherwise the error is ErrKind.
func Decode[T payloadOf](r Record) (T, error) { return decodePayload[T](r.env.Kind, r.env.Payload) }

// parseEntry checks the stored hash and the form of an entry. It checks neither chain nor seal.
func parseEntry(e Entry) (Record, error) {
	var r Record
	var err error
	if r.hash, _, r.line, err = splitEntry(e); err != nil {
		return Record{}, err
	}
	if LeafHash(r.line) != r.hash {
		return Record{}, &EventError{Seq: e.Pos, Err: fmt.Errorf("%w: its bytes do not have the hash they were stored with", ErrCorrupt)}
	}
	if err := parseLine(r.line, &r.env); err != nil {
		return Record{}, &EventError{Seq: e.Pos, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	if r.env.Seq != e.Pos {
		return Record{}, &EventError{Seq: e.Pos, Kind: r.env.Kind, Err: fmt.Errorf("%w: it says that it is event %d", ErrCorrupt, r.env.Seq)}
	}
	if r.env.V > eventVersion {
		return Record{}, &EventError{Seq: e.Pos, Kind: r.env.Kind, Err: fmt.Errorf("%w: version %d, this is a build for %d", ErrFormat, r.env.V, eventVersion)}
	}
	return r, nil
}

// sameContent reports whether d would record what r records. What an agent wrote is in the origin key itself, so a newer
// reader that makes more of the same marker adds nothing; what is sealed has to be the same to the byte.
func (r Record) sameContent(d Draft) bool {
	if r.env.Kind != d.kind {
		return false
	}
	return !d.kind.Sealed() || bytes.Equal(r.env.Payload, d.payload)
}
