package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/dalkkak/dkgraph/events"
)

// ErrUnknownFormat: the file is no transcript of an agent that is known.
var ErrUnknownFormat = errors.New("no transcript of a known agent")

// Limits on what one read drafts besides markers. What is over is counted.
const (
	maxIgnoredLine = 64
	maxIgnored     = 1000
	maxDamaged     = 1000
)

// maxUnknown is how many records that no agent writes make a file none of theirs.
const maxUnknown = 64

// Source says where a transcript comes from.
type Source struct {
	// Path is what events name as their source.
	Path string
	// Final says that nobody writes to the transcript any more: a last line without its line end is used if it is
	// JSON. When it is not set such a line may still be growing, and is left for the next read.
	Final bool
}

// Stats say what a read has seen.
type Stats struct {
	Bytes          int64 // up to the end of the last line that was used
	Lines          int64 // that were used, skipped ones included
	Damaged        int64 // lines that were not one JSON value, too long ones included
	DamagedDropped int64 // of these, not drafted because there were too many
	SkippedLong    int64 // of these, over MaxLineBytes
	Markers        int64 // drafted
	Ignored        int64 // look-alikes, drafted
	IgnoredDropped int64 // look-alikes, not drafted because there were too many
	Repeated       int64 // markers and look-alikes that the same transcript held before, not drafted again
	Partial        bool  // there is a last line without its line end that was left
	PartialBytes   int64 // its length
}

// A Reader drafts events from one transcript.
type Reader struct {
	src      Source
	lines    *lineReader
	stats    Stats
	agent    adapter // nil until it is known
	unknown  int     // records seen before that
	held     []damage
	sessions map[string]*session
	order    []*session // in the order of their first record
	current  string     // session of the last record
	drafted  map[events.Hash]bool
	yield    func(events.Draft, error) bool
	stopped  bool // by the consumer
}

// A session is drafted with the first record that states its working folder, or right before its first other draft.
type session struct {
	seen    events.Seen
	drafted bool
}

// damage is a damaged line that waits for the agent to be known.
type damage struct {
	events.Damage
	offset int64
}

// NewReader returns a Reader of a transcript. The agent is told from what the file holds.
func NewReader(r io.Reader, src Source) *Reader {
	return &Reader{
		src:      src,
		lines:    newLineReader(r, MaxLineBytes),
		sessions: map[string]*session{},
		drafted:  map[events.Hash]bool{},
	}
}

// Stats may be called after Drafts has ended.
func (r *Reader) Stats() Stats { return r.stats }

// Drafts yields the drafts in the order of the file. A bad line is a draft and not an error. An error is the last thing
// yielded: one of the io.Reader, or [ErrUnknownFormat]. It may be called once.
func (r *Reader) Drafts() iter.Seq2[events.Draft, error] {
	return func(yield func(events.Draft, error) bool) {
		r.yield = yield
		if err := r.read(); err != nil && !r.stopped {
			yield(events.Draft{}, err)
		}
	}
}

func (r *Reader) read() error {
	for !r.stopped {
		ln, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return fmt.Errorf("read %s at %d: %w", r.src.Path, r.lines.off, err)
		}
		if err := r.line(&ln); err != nil {
			return err
		}
	}
	return nil
}

// finish drafts the sessions that never stated a working folder.
func (r *Reader) finish() error {
	if r.agent == nil && (r.unknown > 0 || len(r.held) > 0) {
		return r.unknownFormat()
	}
	for _, s := range r.order {
		r.announce(s)
	}
	return nil
}

func (r *Reader) unknownFormat() error { return fmt.Errorf("%s: %w", r.src.Path, ErrUnknownFormat) }

// line takes one line.
func (r *Reader) line(ln *line) error {
	data := bytes.Trim(ln.data, "\x00")
	if ln.offset == 0 {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	empty := !ln.long && skipSpace(data, 0) == len(data)
	rec, _, whole := readMembers(data)
	if !ln.ended && (!r.src.Final || !whole && !empty) {
		r.stats.Partial, r.stats.PartialBytes = true, ln.taken
		return nil
	}
	r.stats.Lines++
	r.stats.Bytes += ln.taken
	switch {
	case ln.long:
		r.stats.SkippedLong++
		r.damaged(ln, damageTooLong, ln.length, "")
		return nil
	case empty:
		return nil
	case whole:
		return r.record(ln, data, rec, new(int))
	}
	return r.broken(ln, data)
}

// broken takes a line that is not one JSON value.
func (r *Reader) broken(ln *line, data []byte) error {
	good, lost := salvage(data)
	detail := fmt.Sprintf("%d whole records on the line", len(good))
	switch {
	case len(good) == 0:
		r.damaged(ln, damageNotJSON, int64(lost), "")
	case lost > 0:
		r.damaged(ln, damageTorn, int64(lost), detail)
	default:
		r.damaged(ln, damageGlued, 0, detail)
	}
	ignored := 0
	for _, b := range good {
		rec, _, _ := readMembers(b)
		if err := r.record(ln, b, rec, &ignored); err != nil {
			return err
		}
	}
	return nil
}

// record takes one record of a line. ignored counts the look-alikes of the line.
func (r *Reader) record(ln *line, data []byte, rec members, ignored *int) error {
	if r.agent == nil && !r.detect(rec) {
		if r.unknown++; r.unknown > maxUnknown {
			return r.unknownFormat()
		}
		return nil
	}
	if rec == nil {
		return nil // JSON, but not an object
	}
	e := r.agent.entry(rec, mayHoldMarker(data))
	r.meet(ln, e)
	if e.turn == "" && len(e.texts) > 0 {
		// A record without any id. Its bytes have at least a time, so that the same words said later are another turn.
		e.turn = "sha256:" + events.Sum(data).String()
	}
	ordinal, block := 0, -1
	for _, p := range e.texts {
		if p.block != block {
			ordinal, block = 0, p.block
		}
		ordinal = r.passage(ln, data, e, p, ordinal, ignored)
	}
	return nil
}

// detect finds the agent by its record, and drafts the damage that came before.
func (r *Reader) detect(rec members) bool {
	if rec == nil {
		return false
	}
	for _, a := range adapters() {
		if a.knows(rec) {
			r.agent = a
			for _, d := range r.held {
				r.draft(events.TranscriptDamaged(d.Damage, r.damageSeen(d)))
			}
			r.held = nil
			return true
		}
	}
	return false
}

// meet takes note of the session of a record.
func (r *Reader) meet(ln *line, e entry) {
	if e.session == "" {
		return
	}
	r.current = e.session
	s := r.sessions[e.session]
	if s == nil {
		s = &session{}
		r.sessions[e.session] = s
		r.order = append(r.order, s)
	}
	if !s.drafted && (s.seen.Session == "" || e.cwd != "") {
		s.seen = r.seen(ln, e)
		s.seen.Turn = ""
	}
	if e.cwd != "" {
		r.announce(s)
	}
}

// announce drafts a session, once.
func (r *Reader) announce(s *session) {
	if s == nil || s.drafted {
		return
	}
	s.drafted = true
	r.draft(events.SessionSeen(s.seen))
}

// passage drafts what one text holds, and returns the next ordinal.
func (r *Reader) passage(ln *line, data []byte, e entry, p passage, ordinal int, ignored *int) int {
	next := ordinal
	take := func(f Found) {
		next = f.Ordinal + 1
		if f.Reason == "" && strings.Contains(f.Body, "\ufffd") && mangled(data) {
			f = f.reject(reasonMalformed, "the line is not UTF-8")
		}
		seen := r.seen(ln, e)
		seen.Block = p.block
		r.found(f, seen, ignored)
	}
	if p.reason == "" {
		scan(p.text, ordinal, take)
	} else {
		scanElsewhere(p.text, p.reason, ordinal, take)
	}
	return next
}

// mangled reports whether decoding a record has replaced something in it.
func mangled(data []byte) bool {
	return !bytes.Equal(data, bytes.ToValidUTF8(data, nil)) || loneSurrogate(data)
}

// found drafts a marker or a look-alike, unless it was drafted before or there were too many.
func (r *Reader) found(f Found, seen events.Seen, ignored *int) {
	if r.stopped {
		return
	}
	if f.Reason != "" && (*ignored >= maxIgnoredLine || r.stats.Ignored >= maxIgnored) {
		r.stats.IgnoredDropped++
		return
	}
	d, err := f.Draft(seen)
	if err != nil {
		// Scan has asked the constructor; if it disagrees with itself, the text is still there to be looked at again.
		d, err = f.reject(refusal(err), err.Error()).Draft(seen)
	}
	// A snapshot of a message repeats what an earlier line had. The log would know it too, but may not take two
	// look-alikes that differ in nothing but the reason.
	if err != nil || r.drafted[d.Origin()] {
		r.stats.Repeated++
		return
	}
	r.announce(r.sessions[seen.Session])
	if d.Kind() == events.KindMarkerIgnored {
		*ignored++
		r.stats.Ignored++
	} else {
		r.stats.Markers++
	}
	r.draft(d, nil)
}

// damaged drafts a damaged line, as soon as the agent is known.
func (r *Reader) damaged(ln *line, what string, lost int64, detail string) {
	if r.stats.Damaged++; r.stats.Damaged > maxDamaged {
		r.stats.DamagedDropped++
		return
	}
	d := damage{
		Damage: events.Damage{What: what, Detail: detail, Length: lost, LineSHA256: ln.hash()},
		offset: ln.offset,
	}
	if r.agent == nil {
		r.held = append(r.held, d)
		return
	}
	r.announce(r.sessions[r.current])
	r.draft(events.TranscriptDamaged(d.Damage, r.damageSeen(d)))
}

func (r *Reader) damageSeen(d damage) events.Seen {
	return events.Seen{
		Agent: r.agent.name(), Session: r.current, Source: r.src.Path, Offset: d.offset, LineSHA256: d.LineSHA256,
	}
}

func (r *Reader) seen(ln *line, e entry) events.Seen {
	return events.Seen{
		Agent: r.agent.name(), AgentVersion: e.version, Session: e.session, Turn: e.turn, Record: e.record,
		Source: r.src.Path, Offset: ln.offset, LineSHA256: ln.hash(), CWD: e.cwd, At: e.at,
	}
}

// draft hands a draft to the consumer, once.
func (r *Reader) draft(d events.Draft, err error) {
	if err != nil || r.stopped || r.drafted[d.Origin()] {
		return
	}
	r.drafted[d.Origin()] = true
	r.stopped = !r.yield(d, nil)
}
