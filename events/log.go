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

// maxConflicts bounds how often Append tries again when other writers move the end.
const maxConflicts = 100

// Options of a Log. The zero value is fine.
type Options struct {
	Now func() time.Time // the clock for recorded times; time.Now by default
}

// A Head is the last event of a log.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// A Log is an append-only sequence of events. It is safe for concurrent use.
type Log struct {
	backend Backend
	now     func() time.Time
	verify  verifier
	genesis Record

	mu     sync.Mutex // guards below; held while appending
	head   Head
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
	recs, _, err := l.Append(ctx, d)
	if err != nil {
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
	l.head = Head{Seq: end, Hash: last.hash}
	return l, nil
}

func newLog(b Backend, opts Options) *Log {
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	return &Log{backend: b, now: now}
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
	g, err := Decode[Genesis](r)
	if err != nil {
		return &EventError{Seq: 1, Kind: r.env.Kind, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	if g.Format != logFormat {
		return fmt.Errorf("%w: format %d, this is a build for %d", ErrFormat, g.Format, logFormat)
	}
	key, err := base64.StdEncoding.DecodeString(g.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return &EventError{Seq: 1, Kind: r.env.Kind, Err: fmt.Errorf("%w: no public key", ErrCorrupt)}
	}
	r.logOrigin = g.Origin
	l.genesis = r
	l.verify = verifier{origin: g.Origin, key: key}
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

// Append records drafts as one batch: contiguous, all or none, durable on return. A draft whose origin key is known adds
// nothing and gives the record that is there. The records are in the order of the drafts; added counts the new ones.
//
// Errors: ErrUnsealed, ErrRetargeted, ErrOriginReuse, ErrTooLarge, ErrNoSpace and ErrClosed mean that nothing was
// written. After ErrUnknownOutcome the log takes no more; open it again and append the same drafts.
func (l *Log) Append(ctx context.Context, drafts ...Draft) (recs []Record, added int, err error) {
	return l.append(ctx, nil, drafts)
}

// AppendAt is Append on the condition that the head is still at seq; otherwise it is ErrConflict and nothing is written.
func (l *Log) AppendAt(ctx context.Context, seq uint64, drafts ...Draft) (recs []Record, added int, err error) {
	return l.append(ctx, &seq, drafts)
}

func (l *Log) append(ctx context.Context, at *uint64, drafts []Draft) ([]Record, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range maxConflicts {
		if l.failed != nil {
			return nil, 0, fmt.Errorf("append: %w: %w", ErrUnknownOutcome, l.failed)
		}
		if at != nil && *at != l.head.Seq {
			return nil, 0, fmt.Errorf("append after %d: %w: it is at %d", *at, ErrConflict, l.head.Seq)
		}
		b, err := l.prepare(ctx, drafts)
		if err != nil {
			return nil, 0, err
		}
		if len(b.entries) == 0 {
			return b.recs, 0, nil
		}
		err = l.backend.Append(ctx, l.head.Seq, b.entries)
		switch {
		case err == nil:
			l.head = b.head
			return b.recs, len(b.entries), nil
		case errors.Is(err, ErrConflict):
			if err := l.catchUp(ctx); err != nil {
				return nil, 0, fmt.Errorf("append: %w", err)
			}
		case nothingWritten(err):
			return nil, 0, fmt.Errorf("append after %d: %w", l.head.Seq, err)
		default:
			l.failed = err
			return nil, 0, fmt.Errorf("append after %d: %w: %w", l.head.Seq, ErrUnknownOutcome, err)
		}
	}
	return nil, 0, fmt.Errorf("append: %w: gave up after %d tries", ErrConflict, maxConflicts)
}

// nothingWritten reports whether a backend's error promises that it wrote nothing.
func nothingWritten(err error) bool {
	for _, target := range []error{ErrTooLarge, ErrNoSpace, ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// catchUp moves the head to the backend's end, checking what others wrote.
func (l *Log) catchUp(ctx context.Context) error {
	head := l.head
	for rec, err := range l.readAfter(ctx, head) {
		if err != nil {
			return err
		}
		head = Head{Seq: rec.Seq(), Hash: rec.hash}
	}
	l.head = head
	return nil
}

// A batch is a set of drafts made ready to follow a head.
type batch struct {
	recs    []Record // one for each draft
	entries []Entry  // the new ones
	head    Head
	fresh   map[Hash]Record
}

// prepare checks drafts and gives the new ones their place after the head. l.mu is held.
func (l *Log) prepare(ctx context.Context, drafts []Draft) (batch, error) {
	b := batch{head: l.head, fresh: make(map[Hash]Record)}
	now := l.now().UTC().Truncate(time.Millisecond)
	for _, d := range drafts {
		if d.kind == "" {
			return b, fmt.Errorf("append: %w: the zero draft", ErrShape)
		}
		rec, known, err := l.known(ctx, b, d)
		if err != nil {
			return b, fmt.Errorf("append %s: %w", d.kind, err)
		}
		if !known {
			if rec, err = l.place(ctx, &b, d, now); err != nil {
				return b, fmt.Errorf("append %s: %w", d.kind, err)
			}
		}
		b.recs = append(b.recs, rec)
	}
	return b, nil
}

// known finds the record with d's origin key, in the batch or in the log.
func (l *Log) known(ctx context.Context, b batch, d Draft) (Record, bool, error) {
	rec, ok := b.fresh[d.origin]
	if !ok {
		seq, err := l.backend.Find(ctx, d.origin)
		if err != nil || seq == 0 {
			return Record{}, false, err
		}
		if rec, err = l.Get(ctx, seq); err != nil {
			return Record{}, false, err
		}
	}
	if !rec.sameContent(d) {
		return Record{}, false, fmt.Errorf("%w: event %d", ErrOriginReuse, rec.Seq())
	}
	return rec, true, nil
}

// place makes the record of a new draft and adds it to the batch.
func (l *Log) place(ctx context.Context, b *batch, d Draft, now time.Time) (Record, error) {
	if err := l.verify.check(d.kind, d.payload, d.seal); err != nil {
		return Record{}, err
	}
	if err := l.checkRefs(ctx, b, d.kind, d.payload); err != nil {
		return Record{}, err
	}
	id, err := ulid.New(ulid.Timestamp(now), rand.Reader)
	if err != nil {
		return Record{}, err
	}
	rec := Record{logOrigin: l.verify.origin, env: envelope{
		Seq: b.head.Seq + 1, ID: ID(id), Time: now, Kind: d.kind, V: eventVersion, Origin: d.origin, Prev: b.head.Hash,
		Payload: d.payload, Seen: d.seen, Seal: d.seal,
	}}
	if rec.line, err = encode(rec.env); err != nil {
		return Record{}, err
	}
	if len(rec.line) > MaxEventBytes {
		return Record{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(rec.line), MaxEventBytes)
	}
	e := entry(d.origin, rec.line)
	rec.hash = Sum(rec.line)
	b.entries = append(b.entries, e)
	b.head = Head{Seq: rec.env.Seq, Hash: rec.hash}
	b.fresh[d.origin] = rec
	return rec, nil
}

// checkRefs makes sure that a sealed draft is about events of this log and of the right kind: the seal alone proves who
// wrote it, not that what it names is there.
func (l *Log) checkRefs(ctx context.Context, b *batch, kind Kind, payload []byte) error {
	if !kind.aboutClaim() {
		return nil
	}
	refs, err := decodeRefs(payload)
	if err != nil {
		return err
	}
	for _, ref := range refs.list() {
		rec, err := l.resolve(ctx, b, ref.Ref)
		if err != nil {
			return fmt.Errorf("%w: its %s, event %d: %w", ErrRetargeted, ref.kind, ref.Seq, err)
		}
		if rec.env.Kind != ref.kind || rec.hash != ref.Hash {
			return fmt.Errorf("%w: event %d is not the %s it names", ErrRetargeted, ref.Seq, ref.kind)
		}
		if ref.kind == KindClaimMade {
			continue
		}
		theirs, err := decodeRefs(rec.env.Payload)
		if err != nil || theirs.Claim == nil || *theirs.Claim != *refs.Claim {
			return fmt.Errorf("%w: %s %d is about another claim", ErrRetargeted, ref.kind, ref.Seq)
		}
	}
	return nil
}

func (l *Log) resolve(ctx context.Context, b *batch, ref Ref) (Record, error) {
	for _, rec := range b.fresh {
		if rec.Seq() == ref.Seq {
			return rec, nil
		}
	}
	return l.Get(ctx, ref.Seq)
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
		return Record{}, &EventError{Seq: seq, Kind: rec.env.Kind, Err: fmt.Errorf("%w: the index has it under another origin key", ErrCorrupt)}
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
	if err := l.verify.check(r.env.Kind, r.env.Payload, r.env.Seal); err != nil {
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

// Close closes the backend. Closing twice is fine.
func (l *Log) Close() error { return l.backend.Close() }
