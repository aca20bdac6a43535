// Package memlog is the reference backend of the event log: it keeps everything in memory and is rude on purpose.
//
// It fails stopped, as every backend does: a stale position writes nothing. It reports ErrConflict for one append in ten
// although nothing moved, so that a caller that does not try again is found at once.
//
//	store := memlog.NewStore()
//	log, err := events.Create(ctx, store.Open(), origin, key, events.Options{})
//
// A [Store] is what would be the disk; what [Store.Open] returns is one handle on it. Both are safe for concurrent use.
// Durability is that of the process.
package memlog

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/dalkkak/dkgraph/events"
)

// rudeness is how many appends there are for each false conflict.
const rudeness = 10

// A Store holds the entries that its handles share.
type Store struct {
	mu      sync.Mutex // guards below
	entries []events.Entry
	keys    map[events.Hash]uint64
	appends int
	moved   chan struct{} // closed and replaced when the end moves
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{keys: make(map[events.Hash]uint64), moved: make(chan struct{})}
}

// Open returns a backend on s.
func (s *Store) Open() events.Backend { return &handle{store: s, done: make(chan struct{})} }

type handle struct {
	store *Store
	once  sync.Once
	done  chan struct{} // closed by Close
}

var _ events.Backend = (*handle)(nil)

func (h *handle) usable(ctx context.Context) error {
	select {
	case <-h.done:
		return events.ErrClosed
	default:
		return ctx.Err()
	}
}

func (h *handle) Append(ctx context.Context, after uint64, entries []events.Entry) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.appends++; s.appends%rudeness == 0 {
		return fmt.Errorf("%w: so it may be said at any time", events.ErrConflict)
	}
	if end := uint64(len(s.entries)); end != after {
		return fmt.Errorf("%w: it is at %d", events.ErrConflict, end)
	}
	for _, e := range entries {
		e.Pos = uint64(len(s.entries)) + 1
		e.Data = slices.Clone(e.Data)
		s.entries = append(s.entries, e)
		s.keys[e.Key] = e.Pos
	}
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}

func (h *handle) Read(ctx context.Context, from uint64) iter.Seq2[events.Entry, error] {
	return func(yield func(events.Entry, error) bool) {
		if err := h.usable(ctx); err != nil {
			yield(events.Entry{}, err)
			return
		}
		for _, e := range h.store.from(from) {
			if err := h.usable(ctx); err != nil {
				yield(events.Entry{}, err)
				return
			}
			e.Data = slices.Clone(e.Data)
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *Store) from(pos uint64) []events.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pos = max(pos, 1); pos > uint64(len(s.entries)) {
		return nil
	}
	return s.entries[pos-1 : len(s.entries) : len(s.entries)]
}

func (h *handle) Find(ctx context.Context, key events.Hash) (uint64, error) {
	if err := h.usable(ctx); err != nil {
		return 0, err
	}
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	return h.store.keys[key], nil
}

func (h *handle) End(ctx context.Context) (uint64, error) {
	if err := h.usable(ctx); err != nil {
		return 0, err
	}
	end, _ := h.store.end()
	return end, nil
}

func (s *Store) end() (uint64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.entries)), s.moved
}

func (h *handle) Wait(ctx context.Context, after uint64) (uint64, error) {
	for {
		if err := h.usable(ctx); err != nil {
			return 0, err
		}
		end, moved := h.store.end()
		if end > after {
			return end, nil
		}
		select {
		case <-moved:
		case <-h.done:
		case <-ctx.Done():
		}
	}
}

func (h *handle) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Tamper replaces the data of the entry at pos, as somebody with an editor on the database would. It is for tests.
func (s *Store) Tamper(pos uint64, change func(data []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[pos-1].Data = change(slices.Clone(s.entries[pos-1].Data))
}
