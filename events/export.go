package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An export is the lines of a log, or of a part of it, as they are stored, and one last line that is no event: it ties
// them to a signed checkpoint, so that any language can check an export with a JSON parser, SHA-256 and Ed25519, and a
// file that was cut anywhere shows.
//
//	{"seq":1,…}
//	{"seq":2,…}
//	{"export":{"from":1,"to":2,"key":"…","checkpoint":"…","proof":[…]}}

// ErrExport: a file is no whole export.
var ErrExport = errors.New("no whole export")

// A trailer is the last line of an export.
type trailer struct {
	Export *exported `json:"export"`
}

type exported struct {
	From       uint64 `json:"from"`
	To         uint64 `json:"to"`
	Key        string `json:"key"`        // the log's public key, in note's form
	Checkpoint string `json:"checkpoint"` // of a tree that holds the lines
	Proof      []Hash `json:"proof"`      // that line To is in that tree; the chain ties the lines before to it
}

// Export writes the events from..to (0 is the end) to w. sign makes the checkpoint of the log's tree. Others may append
// while it is written; it is as of its beginning.
func (l *Log) Export(ctx context.Context, w io.Writer, from, to uint64, sign func(Tree) ([]byte, error)) error {
	tree := l.Tree() // what is appended from here on is not in the export
	if from, to = max(from, 1), min(to, tree.Size); to == 0 {
		to = tree.Size
	}
	if from > to {
		return fmt.Errorf("export: %w: no events from %d to %d", ErrNotFound, from, to)
	}
	out := bufio.NewWriter(w)
	for rec, err := range l.Read(ctx, from) {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if rec.Seq() > to {
			break
		}
		_, _ = out.Write(rec.line)
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	end, err := l.trailer(ctx, from, to, tree, sign)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	_, _ = out.Write(append(end, '\n'))
	return out.Flush()
}

func (l *Log) trailer(ctx context.Context, from, to uint64, t Tree, sign func(Tree) ([]byte, error)) ([]byte, error) {
	p, err := l.proveIn(ctx, to, t)
	if err != nil {
		return nil, err
	}
	signed, err := sign(p.Tree)
	if err != nil {
		return nil, err
	}
	key, err := l.VerifierKey()
	if err != nil {
		return nil, err
	}
	return encode(trailer{&exported{From: from, To: to, Key: key, Checkpoint: string(signed), Proof: p.Hashes}})
}

// importBatch is how many lines are made durable at once.
const importBatch = 500

// Import writes a whole export into an empty backend: the same bytes, the same head. Every line is checked as it is read;
// what was cut, changed or put in another order is refused with its place, and then the backend holds a part that is no
// use: the caller throws it away. It returns the tree of the imported log.
func Import(ctx context.Context, b Backend, r io.Reader) (Tree, error) {
	if end, err := b.End(ctx); err != nil || end != 0 {
		return Tree{}, errors.Join(err, fmt.Errorf("import: %w", ErrExists))
	}
	im := importer{ctx: ctx, log: newLog(b, Options{})}
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err == nil {
			var done bool
			if done, err = im.line(line); done && err == nil {
				return im.finish(in)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends after event %d, before the line that closes an export", ErrExport, im.head.Seq)
		}
		if err != nil {
			return Tree{}, fmt.Errorf("import: line %d: %w", n, err)
		}
	}
}

// readLine reads up to a line end, which must be there. A line that is too long for an event is an error.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > 2*MaxEventBytes:
			return nil, fmt.Errorf("%w: it is over %d bytes", ErrExport, 2*MaxEventBytes)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// An importer checks lines one after the other and writes them.
type importer struct {
	ctx     context.Context // of the one call that it lives in
	log     *Log            // for its checks; its writer is never started
	head    Head
	edge    edge
	entries []Entry
	bytes   int
	end     *exported
}

// line takes up one line; done says that it was the closing one.
func (im *importer) line(line []byte) (done bool, err error) {
	var t trailer
	if err := json.Unmarshal(line, &t); err == nil && t.Export != nil {
		im.end = t.Export
		return true, im.flush()
	}
	seq := im.head.Seq + 1
	hash := LeafHash(line)
	e := joinEntry(Hash{}, hash, im.edge.add(hash), line)
	e.Pos = seq
	rec, err := parseEntry(e)
	if err != nil {
		return false, err
	}
	if seq == 1 {
		if err := im.log.takeGenesis(rec); err != nil {
			return false, err
		}
	}
	if rec, err = im.log.next(im.head, e, nil); err != nil {
		return false, err
	}
	e.Key = rec.env.Origin
	im.entries, im.bytes = append(im.entries, e), im.bytes+len(e.Data)
	im.head = Head{Seq: seq, Hash: hash}
	if len(im.entries) >= importBatch || im.bytes > maxGroupSize {
		return false, im.flush()
	}
	return false, nil
}

func (im *importer) flush() error {
	if len(im.entries) == 0 {
		return nil
	}
	after := im.head.Seq - uint64(len(im.entries))
	var err error
	for range maxConflicts {
		if err = im.log.backend.Append(im.ctx, after, im.entries); !errors.Is(err, ErrConflict) {
			break
		}
	}
	im.entries, im.bytes = nil, 0
	return err
}

// finish compares what was read with what the closing line says.
func (im *importer) finish(in *bufio.Reader) (Tree, error) {
	t := im.edge.tree()
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return t, fmt.Errorf("import: %w: something follows the line that closes it", ErrExport)
	}
	if im.end.From != 1 || im.end.To != t.Size {
		return t, fmt.Errorf("import: %w: it holds events %d to %d; a store is made from all of them", ErrExport, im.end.From, im.end.To)
	}
	key, err := im.log.VerifierKey()
	if err != nil {
		return t, err
	}
	_, signed, err := OpenCheckpoint(key, []byte(im.end.Checkpoint))
	if err != nil {
		return t, fmt.Errorf("import: %w", err)
	}
	if signed != t {
		return t, fmt.Errorf("import: %w: the checkpoint is of %d events with the root %s, these are %d with %s", ErrForked, signed.Size, signed.Root, t.Size, t.Root)
	}
	return t, nil
}
