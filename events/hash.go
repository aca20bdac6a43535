package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"
)

// A Hash is a SHA-256. It is written as 64 hexadecimal digits.
type Hash [sha256.Size]byte

// Sum returns the SHA-256 of b.
func Sum(b []byte) Hash { return sha256.Sum256(b) }

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is the zero hash, which stands for "none".
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText implements [encoding.TextMarshaler].
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("hash %q: want %d hexadecimal digits", b, hex.EncodedLen(len(h)))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// An ID is a ULID: a name for people and programs, never an order.
type ID [16]byte

// DeriveID returns the ID that everybody who sees the same thing gives it: the milliseconds of at and the first 80 bits
// of a hash over kind and origin. A zero at is for things that have no time of their own.
func DeriveID(at time.Time, kind string, origin Hash) ID {
	var id ulid.ULID
	if !at.IsZero() && at.UnixMilli() > 0 {
		// SetTime fails only past the year 10889; such a clock is as good as none.
		_ = id.SetTime(uint64(at.UnixMilli()))
	}
	sum := sha256.Sum256(append([]byte(kind+"\x00"), origin[:]...))
	copy(id[6:], sum[:10])
	return ID(id)
}

// ParseID reads the 26 characters of an ID.
func ParseID(s string) (ID, error) {
	u, err := ulid.ParseStrict(s)
	if err != nil {
		return ID{}, fmt.Errorf("id %q: %w", s, err)
	}
	return ID(u), nil
}

func (id ID) String() string { return ulid.ULID(id).String() }

// Time returns the time within id, to the millisecond.
func (id ID) Time() time.Time { return ulid.Time(ulid.ULID(id).Time()) }

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return ulid.ULID(id).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(b []byte) error {
	var err error
	*id, err = ParseID(string(b))
	return err
}

// KeyOf hashes parts into one key. Lengths are hashed with the parts, so that ("ab","c") and ("a","bc") differ.
func KeyOf(parts ...string) Hash {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return Hash(h.Sum(nil))
}
