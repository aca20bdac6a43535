package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/oklog/ulid/v2"
)

// Bounds of the writer: requests that wait, events and bytes that are committed at once, and how often it tries again when
// others move the end.
const (
	maxQueue     = 256
	maxGroup     = 1000
	maxGroupSize = 1 << 20
	maxConflicts = 100

	// lineOverhead is what a line usually has beside its payload; one that has more costs a copy.
	lineOverhead = 768
)

// A request is one call of Append on its way through the writer.
type request struct {
	ctx    context.Context // of the caller; checked before anything is written
	at     *uint64         // expected head; nil is any
	drafts []Draft
	done   chan struct{} // closed when the answer is there

	recs  []Record
	added int
	err   error
}

func (r *request) answer(err error) {
	r.err = err
	if err != nil {
		r.recs, r.added = nil, 0
	}
	close(r.done)
}

// Append records drafts as one batch: contiguous, all or none, durable on return. A draft whose origin key is known adds
// nothing and gives the record that is there. The records are in the order of the drafts; added counts the new ones.
//
// Appends of several callers are made durable together. Errors: ErrUnsealed, ErrRetargeted, ErrOriginReuse, ErrTooLarge,
// ErrNoSpace and ErrClosed mean that nothing was written. After ErrUnknownOutcome the log takes no more; open it again and
// append the same drafts. A batch is never torn by the end of ctx; when it was taken up already, its outcome is returned.
func (l *Log) Append(ctx context.Context, drafts ...Draft) (recs []Record, added int, err error) {
	return l.submit(&request{ctx: ctx, drafts: drafts, done: make(chan struct{})})
}

// AppendAt is Append on the condition that the head is still at seq; otherwise it is ErrConflict and nothing is written.
func (l *Log) AppendAt(ctx context.Context, seq uint64, drafts ...Draft) (recs []Record, added int, err error) {
	return l.submit(&request{ctx: ctx, at: &seq, drafts: drafts, done: make(chan struct{})})
}

func (l *Log) submit(r *request) ([]Record, int, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, 0, err
	}
	select {
	case l.requests <- r:
	case <-l.quit:
		return nil, 0, fmt.Errorf("append: %w", ErrClosed)
	case <-r.ctx.Done():
		return nil, 0, r.ctx.Err()
	}
	select {
	case <-r.done: // the writer answers every request that it can still see
	case <-l.quit:
		l.writer.Wait()
		select {
		case <-r.done:
		default:
			return nil, 0, fmt.Errorf("append: %w", ErrClosed)
		}
	}
	return r.recs, r.added, r.err
}

// start starts the writer, the one goroutine that appends. stop ends and waits for it.
func (l *Log) start() { l.writer.Go(l.write) }

func (l *Log) stop() {
	l.closing.Do(func() { close(l.quit) })
	l.writer.Wait()
}

// write takes up what waits, commits it as one batch, answers, and so on. While a commit is on its way to the disk the
// next group gathers by itself, so there is no need to wait for it.
func (l *Log) write() {
	for {
		select {
		case <-l.quit:
			return
		case r := <-l.requests:
			l.commit(l.group(r))
		}
	}
}

// group takes up what waits behind first. Those who were answered just now often append again at once: they get a turn
// to, or the fastest of them would have a commit to itself while the others wait. With nobody there a turn costs next to
// nothing.
func (l *Log) group(first *request) []*request {
	group, n := []*request{first}, len(first.drafts)
	for {
		runtime.Gosched()
		before := len(group)
		for r := l.waiting(); r != nil; r = l.waiting() {
			group = append(group, r)
			if n += len(r.drafts); n >= maxGroup {
				return group
			}
		}
		if len(group) == before {
			return group
		}
	}
}

// waiting returns a request that waits, nil if there is none.
func (l *Log) waiting() *request {
	select {
	case r := <-l.requests:
		return r
	default:
		return nil
	}
}

// commit commits a group of requests, each of them whole or not at all.
func (l *Log) commit(group []*request) {
	for conflicts := 0; conflicts < maxConflicts; {
		b, ready, rest := l.gather(group)
		err := l.commitBatch(b, ready)
		switch {
		case errors.Is(err, ErrConflict):
			if err := l.catchUp(context.Background()); err != nil {
				answerAll(append(ready, rest...), fmt.Errorf("append: %w", err))
				return
			}
			group = append(ready, rest...)
			conflicts++
			continue
		case errors.Is(err, ErrTooLarge) && len(ready) > 1:
			for _, r := range ready { // together they are over what the backend takes at once
				l.commit([]*request{r})
			}
		default:
			answerAll(ready, err)
		}
		if group = rest; len(group) == 0 {
			return
		}
		conflicts = 0
	}
	answerAll(group, fmt.Errorf("append: %w: gave up after %d tries", ErrConflict, maxConflicts))
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.answer(err)
	}
}

// gather makes a batch of as many requests as fit. It answers those that can be answered without writing; ready are those
// in the batch, rest those that have to wait for the next.
func (l *Log) gather(group []*request) (b batch, ready, rest []*request) {
	b = newBatch(l.head, l.edge, l.now().UTC().Truncate(time.Millisecond))
	for i, r := range group {
		if len(b.entries) > 0 && b.bytes > maxGroupSize {
			return b, ready, group[i:]
		}
		switch err := l.prepare(&b, r); {
		case err != nil:
			r.answer(err)
		default:
			ready = append(ready, r)
		}
	}
	return b, ready, nil
}

// commitBatch writes a batch and moves the head. An error other than ErrConflict is the answer to all of ready.
func (l *Log) commitBatch(b batch, ready []*request) error {
	if len(b.entries) == 0 {
		return nil
	}
	if l.failed != nil {
		return fmt.Errorf("append: %w: %w", ErrUnknownOutcome, l.failed)
	}
	ctx := context.Background() // others wait for the same commit: no caller's end cancels it
	if len(ready) == 1 {
		ctx = ready[0].ctx
	}
	err := l.backend.Append(ctx, l.head.Seq, b.entries)
	switch {
	case err == nil:
		l.mu.Lock()
		l.head, l.edge = b.head, b.edge
		l.mu.Unlock()
		l.committed(b.edge.tree())
		return nil
	case errors.Is(err, ErrConflict):
		return err
	case nothingWritten(err):
		return fmt.Errorf("append after %d: %w", l.head.Seq, err)
	}
	l.mu.Lock()
	l.failed = err
	l.mu.Unlock()
	return fmt.Errorf("append after %d: %w: %w", l.head.Seq, ErrUnknownOutcome, err)
}

// nothingWritten reports whether a backend's error promises that it wrote nothing.
func nothingWritten(err error) bool {
	for _, target := range []error{ErrTooLarge, ErrNoSpace, ErrNotWritten, ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// catchUp moves the head to the backend's end, checking what others wrote.
func (l *Log) catchUp(ctx context.Context) error {
	head, edge := l.head, l.edge
	for rec, err := range l.readAfter(ctx, head) {
		if err != nil {
			return err
		}
		head = Head{Seq: rec.Seq(), Hash: rec.hash}
		edge.add(rec.hash)
	}
	l.mu.Lock()
	l.head, l.edge = head, edge
	l.mu.Unlock()
	return nil
}

// A batch is events made ready to follow a head.
type batch struct {
	now     time.Time
	head    Head
	edge    edge
	entries []Entry
	recs    []Record // those of entries
	bytes   int
	byKey   map[Hash]int // index into recs
}

func newBatch(h Head, e edge, now time.Time) batch {
	return batch{head: h, edge: e, now: now, byKey: make(map[Hash]int)}
}

// record returns the event of the batch with the given number.
func (b *batch) record(seq uint64) (Record, bool) {
	if len(b.recs) == 0 || seq < b.recs[0].Seq() || seq > b.head.Seq {
		return Record{}, false
	}
	return b.recs[seq-b.recs[0].Seq()], true
}

// prepare gives the new drafts of a request their place in the batch, or leaves the batch as it was.
func (l *Log) prepare(b *batch, r *request) error {
	r.recs, r.added = nil, 0
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.at != nil && *r.at != b.head.Seq {
		return fmt.Errorf("append after %d: %w: it is at %d", *r.at, ErrConflict, b.head.Seq)
	}
	before := *b
	for _, d := range r.drafts {
		rec, added, err := l.placeOrFind(b, r.ctx, d)
		if err != nil {
			for _, rec := range b.recs[len(before.recs):] {
				delete(b.byKey, rec.Origin())
			}
			*b = before
			return fmt.Errorf("append %s: %w", d.kind, err)
		}
		r.recs = append(r.recs, rec)
		if added {
			r.added++
		}
	}
	return nil
}

func (l *Log) placeOrFind(b *batch, ctx context.Context, d Draft) (rec Record, added bool, err error) {
	if d.kind == "" {
		return rec, false, fmt.Errorf("%w: the zero draft", ErrShape)
	}
	rec, known, err := l.known(ctx, b, d)
	if err != nil || known {
		return rec, false, err
	}
	rec, err = l.place(ctx, b, d)
	return rec, true, err
}

// known finds the record with d's origin key, in the batch or in the log.
func (l *Log) known(ctx context.Context, b *batch, d Draft) (Record, bool, error) {
	var rec Record
	if i, ok := b.byKey[d.origin]; ok {
		rec = b.recs[i]
	} else {
		seq, err := l.backend.Find(ctx, d.origin)
		if err != nil || seq == 0 {
			return Record{}, false, err
		}
		if rec, err = l.Get(ctx, seq); err != nil {
			return Record{}, false, err
		}
	}
	if rec.env.Origin != d.origin {
		return Record{}, false, misindexed(rec)
	}
	if !rec.sameContent(d) {
		return Record{}, false, fmt.Errorf("%w: event %d", ErrOriginReuse, rec.Seq())
	}
	return rec, true, nil
}

// misindexed is the error for an index row that leads to another event: an event must not be swallowed by it.
func misindexed(rec Record) error {
	return &EventError{Seq: rec.Seq(), Kind: rec.env.Kind, Err: fmt.Errorf("%w: the index has it under another origin key", ErrCorrupt)}
}

// place makes the record of a new draft and adds it to the batch.
func (l *Log) place(ctx context.Context, b *batch, d Draft) (Record, error) {
	if err := l.verify.check(d.kind, d.origin, d.payload, d.seal); err != nil {
		return Record{}, err
	}
	if err := l.checkRefs(ctx, b, d.kind, d.payload); err != nil {
		return Record{}, err
	}
	id, err := ulid.New(ulid.Timestamp(b.now), rand.Reader)
	if err != nil {
		return Record{}, err
	}
	rec := Record{logOrigin: l.verify.origin, env: envelope{
		Seq: b.head.Seq + 1, ID: ID(id), Time: b.now, Kind: d.kind, V: eventVersion, Origin: d.origin, Prev: b.head.Hash,
		Payload: d.payload, Seen: d.seen, Seal: d.seal,
	}}
	if rec.line, err = appendLine(make([]byte, 0, lineOverhead+len(d.payload)), &rec.env); err != nil {
		return Record{}, err
	}
	if len(rec.line) > MaxEventBytes {
		return Record{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(rec.line), MaxEventBytes)
	}
	rec.hash = LeafHash(rec.line)
	e := joinEntry(d.origin, rec.hash, b.edge.add(rec.hash), rec.line)
	b.entries = append(b.entries, e)
	b.bytes += len(e.Data)
	b.head = Head{Seq: rec.env.Seq, Hash: rec.hash}
	b.byKey[d.origin] = len(b.recs)
	b.recs = append(b.recs, rec)
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
		if err := refs.fits(ref, rec); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) resolve(ctx context.Context, b *batch, ref Ref) (Record, error) {
	if rec, ok := b.record(ref.Seq); ok {
		return rec, nil
	}
	return l.Get(ctx, ref.Seq)
}
