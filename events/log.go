package events

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

const logFormat = 1

// Options of a Log. The zero value is fine.
type Options struct {
	Now func() time.Time // the clock for recorded times; time.Now by default
	// Committed is called with the tree after each commit, before those who appended are answered, from one goroutine.
	// It is where a checkpoint is signed. It must not append.
	Committed func(Tree)
}

// A Head is the last event of a log.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// A Log is an append-only sequence of events. It is safe for concurrent use.
type Log struct {
	backend   Backend
	now       func() time.Time
	committed func(Tree)
	verify    verifier
	genesis   Record

	requests chan *request
	quit     chan struct{} // closed by Close
	writer   sync.WaitGroup
	closing  sync.Once

	mu     sync.Mutex // guards below; only the writer changes them
	head   Head
	edge   edge
	failed error // set after an unknown outcome: nothing is appended any more
}

// Create begins a log on an empty backend and pins the public key that its seals must verify with. origin is the log's
// name for ever; a fresh one comes from NewOrigin.
func Create(ctx context.Context, b Backend, origin string, key ed25519.PublicKey, opts Options) (*Log, error) {
	if origin == "" || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("create log: an origin and a public key are needed")
	}
	end, err := b.End(ctx)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	if end != 0 {
		return nil, fmt.Errorf("create log: %w", ErrExists)
	}
	l := newLog(b, opts)
	l.verify = verifier{origin: origin, key: key}
	d, err := newDraft(Genesis{Origin: origin, PublicKey: base64.StdEncoding.EncodeToString(key), Format: logFormat}, nil, origin)
	if err != nil {
		return nil, err
	}
	l.start()
	recs, _, err := l.Append(ctx, d)
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("create log: %w", err)
	}
	l.genesis = recs[0]
	return l, nil
}

// NewOrigin returns a fresh name for a log.
func NewOrigin(now time.Time) string {
	return "dkgraph/" + ulid.MustNew(ulid.Timestamp(now), rand.Reader).String()
}

// Open opens the log that b holds. It reads the first and the last event; what lies between is checked as it is read.
func Open(ctx context.Context, b Backend, opts Options) (*Log, error) {
	l := newLog(b, opts)
	end, err := b.End(ctx)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if end == 0 {
		return nil, fmt.Errorf("open log: %w", ErrEmptyLog)
	}
	if err := l.readGenesis(ctx); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	last, err := l.Get(ctx, end)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if l.edge, err = l.readEdge(ctx, end); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l.head = Head{Seq: end, Hash: last.hash}
	l.start()
	return l, nil
}

func newLog(b Backend, opts Options) *Log {
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	committed := opts.Committed
	if committed == nil {
		committed = func(Tree) {}
	}
	return &Log{
		backend: b, now: now, committed: committed, requests: make(chan *request, maxQueue), quit: make(chan struct{}),
	}
}

// readGenesis takes the log's name and public key from its first event.
func (l *Log) readGenesis(ctx context.Context) error {
	e, err := l.entryAt(ctx, 1)
	if err != nil {
		return err
	}
	r, err := parseEntry(e)
	if err != nil {
		return err
	}
	return l.takeGenesis(r)
}

func (l *Log) takeGenesis(r Record) error {
	bad := func(err error) error {
		return &EventError{Seq: 1, Kind: r.env.Kind, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	g, err := Decode[Genesis](r)
	if err != nil {
		return bad(err)
	}
	if g.Format != logFormat {
		return fmt.Errorf("%w: format %d, this is a build for %d", ErrFormat, g.Format, logFormat)
	}
	key, err := base64.StdEncoding.DecodeString(g.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize || g.Origin == "" {
		return bad(errors.New("no public key, or no origin"))
	}
	l.verify = verifier{origin: g.Origin, key: key}
	r.logOrigin = g.Origin
	l.genesis = r
	return nil
}

// Origin returns the log's name.
func (l *Log) Origin() string { return l.verify.origin }

// PublicKey returns the key that the log's seals verify with.
func (l *Log) PublicKey() ed25519.PublicKey { return append(ed25519.PublicKey(nil), l.verify.key...) }

// Head returns the last event.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Get returns the event at seq, its hash and seal checked. It is ErrNotFound when seq is past the end.
func (l *Log) Get(ctx context.Context, seq uint64) (Record, error) {
	e, err := l.entryAt(ctx, seq)
	if err != nil {
		return Record{}, err
	}
	return l.record(e)
}

// Find returns the event with the given origin key, or ErrNotFound.
func (l *Log) Find(ctx context.Context, origin Hash) (Record, error) {
	seq, err := l.backend.Find(ctx, origin)
	if err != nil {
		return Record{}, err
	}
	if seq == 0 {
		return Record{}, ErrNotFound
	}
	rec, err := l.Get(ctx, seq)
	if err == nil && rec.env.Origin != origin {
		return Record{}, misindexed(rec)
	}
	return rec, err
}

func (l *Log) entryAt(ctx context.Context, seq uint64) (Entry, error) {
	if seq == 0 {
		return Entry{}, ErrNotFound
	}
	for e, err := range l.backend.Read(ctx, seq) {
		if err != nil {
			return Entry{}, &EventError{Seq: seq, Err: err}
		}
		if e.Pos != seq {
			return Entry{}, &EventError{Seq: seq, Err: fmt.Errorf("%w: the next event is %d", ErrGap, e.Pos)}
		}
		return e, nil
	}
	return Entry{}, &EventError{Seq: seq, Err: ErrNotFound}
}

// record checks an entry's hash, form and seal.
func (l *Log) record(e Entry) (Record, error) {
	r, err := parseEntry(e)
	if err != nil {
		return Record{}, err
	}
	if err := l.verify.check(r.env.Kind, r.env.Origin, r.env.Payload, r.env.Seal); err != nil {
		return Record{}, &EventError{Seq: e.Pos, Kind: r.env.Kind, Err: err}
	}
	r.logOrigin = l.verify.origin
	return r, nil
}

// Read yields the events from seq from (1 is the first) to the end. It never skips: a missing number, a wrong hash, a
// broken chain or a false seal is yielded as an error that names the event, and ends the sequence.
func (l *Log) Read(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		from = max(from, 1)
		prev := Head{}
		if from > 1 {
			r, err := l.Get(ctx, from-1)
			if errors.Is(err, ErrNotFound) {
				return
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			prev = Head{Seq: from - 1, Hash: r.hash}
		}
		l.readAfter(ctx, prev)(yield)
	}
}

// readAfter yields the events that follow head, each checked against the one before.
func (l *Log) readAfter(ctx context.Context, head Head) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for e, err := range l.backend.Read(ctx, head.Seq+1) {
			r, err := l.next(head, e, err)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
			head = Head{Seq: r.env.Seq, Hash: r.hash}
		}
	}
}

// next checks that e is the event that follows head.
func (l *Log) next(head Head, e Entry, err error) (Record, error) {
	seq := head.Seq + 1
	if err != nil {
		return Record{}, &EventError{Seq: seq, Err: err}
	}
	if e.Pos != seq {
		return Record{}, &EventError{Seq: seq, Err: fmt.Errorf("%w: missing up to %d", ErrGap, e.Pos-1)}
	}
	r, err := l.record(e)
	if err != nil {
		return Record{}, err
	}
	if r.env.Prev != head.Hash {
		return Record{}, &EventError{Seq: seq, Kind: r.env.Kind, Err: fmt.Errorf("%w: prev is %.12s…, event %d has the hash %.12s…", ErrChain, r.env.Prev, head.Seq, head.Hash)}
	}
	return r, nil
}

// Follow yields the events from seq from, and then each new one as it comes, with no gap and no repeat, until ctx ends.
// A slow reader never holds up an append.
func (l *Log) Follow(ctx context.Context, from uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		from = max(from, 1)
		for {
			for rec, err := range l.Read(ctx, from) {
				if err != nil && ctx.Err() != nil {
					return
				}
				if !yield(rec, err) || err != nil {
					return
				}
				from = rec.Seq() + 1
			}
			if _, err := l.backend.Wait(ctx, from-1); err != nil {
				if ctx.Err() == nil {
					yield(Record{}, err)
				}
				return
			}
		}
	}
}

// Close ends what is being appended and closes the backend. Closing twice is fine.
func (l *Log) Close() error {
	l.stop()
	return l.backend.Close()
}
