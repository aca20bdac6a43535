package events

import (
	"context"
	"iter"
)

// An Entry is one event as a backend keeps it: bytes under a position, findable by a key that is unique in the log.
type Entry struct {
	Pos  uint64 // from 1; ignored by Append, which gives positions in order
	Key  Hash
	Data []byte
}

// A Backend keeps one totally ordered sequence of entries and knows nothing of their meaning. Encoding, chain, seals and
// idempotence are the [Log]'s affair, so that a new backend cannot weaken them. The suite in package logtest is the
// definition of a backend. Methods may be called concurrently.
//
// An error of Append that wraps ErrConflict, ErrTooLarge, ErrNoSpace, ErrNotWritten, ErrClosed or the context's error says
// that nothing was written; any other error says that the outcome is not known.
type Backend interface {
	// Append keeps entries at the positions after+1, after+2, …, all of them or none, and returns when they are
	// durable. If the end is not after, it is ErrConflict.
	Append(ctx context.Context, after uint64, entries []Entry) error
	// Read yields the entries from position from in order and stops at the end it finds when it starts. It does not
	// check for gaps: the Log does. The yielded bytes are the caller's. Key may be zero.
	Read(ctx context.Context, from uint64) iter.Seq2[Entry, error]
	// Find returns the position of the entry with the given key, and 0 if there is none.
	Find(ctx context.Context, key Hash) (uint64, error)
	// End returns the position of the last entry, 0 if there is none.
	End(ctx context.Context) (uint64, error)
	// Wait returns the end as soon as it is past after, or an error when ctx ends or the backend is closed.
	Wait(ctx context.Context, after uint64) (uint64, error)
	// Close releases the backend. Closing twice is fine; any other use after Close is ErrClosed.
	Close() error
}
