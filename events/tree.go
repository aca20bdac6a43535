package events

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// LeafHash returns the hash of an event's line: SHA-256 over a zero byte and the line, as RFC 6962 hashes a leaf.
func LeafHash(line []byte) Hash { return Hash(tlog.RecordHash(line)) }

// A Tree is an RFC 6962 Merkle tree over the lines of a log: its size and its root name everything up to that event.
type Tree struct {
	Size uint64 `json:"size"`
	Root Hash   `json:"root"`
}

// An edge is the right side of a growing tree: the roots of its complete subtrees, one for each bit of the size. It is
// all that is needed to add leaves and to know the root.
type edge struct {
	size  uint64
	roots [64]Hash // roots[l] is set when bit l of size is
}

// add appends a leaf and returns the hashes of the interior nodes that it completes, lowest first.
func (e *edge) add(leaf Hash) []Hash {
	var done []Hash
	cur, level := leaf, 0
	for ; e.size>>level&1 == 1; level++ {
		cur = Hash(tlog.NodeHash(tlog.Hash(e.roots[level]), tlog.Hash(cur)))
		done = append(done, cur)
	}
	e.roots[level] = cur
	e.size++
	return done
}

// tree returns the tree as it is.
func (e *edge) tree() Tree {
	t := Tree{Size: e.size}
	for level := range e.roots {
		if e.size>>level&1 == 0 {
			continue
		}
		if t.Root.IsZero() {
			t.Root = e.roots[level]
			continue
		}
		t.Root = Hash(tlog.NodeHash(tlog.Hash(e.roots[level]), tlog.Hash(t.Root)))
	}
	return t
}

// readEdge builds the edge of the first size events from the nodes kept with them.
func (l *Log) readEdge(ctx context.Context, size uint64) (edge, error) {
	e := edge{size: size}
	end := size
	for level := 0; level < bits.Len64(size); level++ {
		if size>>level&1 == 0 {
			continue
		}
		// The subtree of 2^level leaves that ends at end has its root with its last leaf.
		nodes, err := l.nodes(ctx, end)
		if err != nil {
			return e, err
		}
		if level >= len(nodes) {
			return e, &EventError{Seq: end, Err: fmt.Errorf("%w: it keeps %d nodes of the tree, want %d", ErrCorrupt, len(nodes), level+1)}
		}
		e.roots[level] = nodes[level]
		end -= 1 << level
	}
	return e, nil
}

// nodes returns the hashes kept with event seq: its own, and those of the subtrees that end with it, lowest first.
func (l *Log) nodes(ctx context.Context, seq uint64) ([]Hash, error) {
	e, err := l.entryAt(ctx, seq)
	if err != nil {
		return nil, err
	}
	hash, inner, _, err := splitEntry(e)
	nodes := []Hash{hash}
	for ; len(inner) > 0; inner = inner[len(hash):] {
		nodes = append(nodes, Hash(inner[:len(hash)]))
	}
	return nodes, err
}

// reader adapts the nodes kept in the log to what package tlog reads.
func (l *Log) reader(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			// Node n of a level covers the leaves up to (n+1)·2^level and is kept with the last of them.
			nodes, err := l.nodes(ctx, uint64(n+1)<<level)
			if err != nil {
				return nil, err
			}
			if level >= len(nodes) {
				return nil, fmt.Errorf("%w: node %d of level %d", ErrCorrupt, n, level)
			}
			hashes[i] = tlog.Hash(nodes[level])
		}
		return hashes, nil
	})
}

// Tree returns the tree over the whole log.
func (l *Log) Tree() Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.edge.tree()
}

// TreeAt returns the tree over the first size events.
func (l *Log) TreeAt(ctx context.Context, size uint64) (Tree, error) {
	if size == 0 || size > l.Head().Seq {
		return Tree{}, fmt.Errorf("tree of %d events: %w: the log has %d", size, ErrNotFound, l.Head().Seq)
	}
	e, err := l.readEdge(ctx, size)
	return e.tree(), err
}

// A Proof shows that one event is in a tree, with the hashes of the nodes beside its path.
type Proof struct {
	Seq    uint64 `json:"seq"`
	Tree   Tree   `json:"tree"`
	Hashes []Hash `json:"hashes"`
}

// Prove returns the proof that event seq is in the tree over the whole log.
func (l *Log) Prove(ctx context.Context, seq uint64) (Proof, error) {
	return l.proveIn(ctx, seq, l.Tree())
}

func (l *Log) proveIn(ctx context.Context, seq uint64, t Tree) (Proof, error) {
	if seq == 0 || seq > t.Size {
		return Proof{}, &EventError{Seq: seq, Err: ErrNotFound}
	}
	p, err := tlog.ProveRecord(int64(t.Size), int64(seq-1), l.reader(ctx))
	if err != nil {
		return Proof{}, &EventError{Seq: seq, Err: err}
	}
	return Proof{Seq: seq, Tree: t, Hashes: fromTlog(p)}, nil
}

// ErrProof: a proof does not show what it says.
var ErrProof = errors.New("the proof does not hold")

// Check reports whether the proof shows that line is the event it names in its tree. Whether the tree is the log's is said
// by a checkpoint.
func (p Proof) Check(line []byte) error {
	if p.Seq == 0 {
		return ErrProof
	}
	err := tlog.CheckRecord(toTlog(p.Hashes), int64(p.Tree.Size), tlog.Hash(p.Tree.Root), int64(p.Seq-1), tlog.RecordHash(line))
	if err != nil {
		return fmt.Errorf("%w: event %d is not in the tree of %d: %w", ErrProof, p.Seq, p.Tree.Size, err)
	}
	return nil
}

// Extends reports whether the log is what old was, with more events after it. It is ErrForked when the log is another one
// or was rewritten, and ErrRewound when it is shorter.
func (l *Log) Extends(ctx context.Context, old Tree) error {
	now := l.Head()
	if old.Size > now.Seq {
		return fmt.Errorf("%w: it had %d events, now it has %d", ErrRewound, old.Size, now.Seq)
	}
	t, err := l.TreeAt(ctx, old.Size)
	if err != nil {
		return err
	}
	if t.Root != old.Root {
		return fmt.Errorf("%w: the first %d events have the root %s, they had %s", ErrForked, old.Size, t.Root, old.Root)
	}
	return nil
}

func fromTlog(hs []tlog.Hash) []Hash {
	out := make([]Hash, len(hs))
	for i, h := range hs {
		out[i] = Hash(h)
	}
	return out
}

func toTlog(hs []Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(hs))
	for i, h := range hs {
		out[i] = tlog.Hash(h)
	}
	return out
}

// maxInner bounds the interior nodes kept with one event: the levels of a tree of 2^63 leaves.
const maxInner = 63

// joinEntry makes what the backend keeps for a line: its hash, the nodes of the tree that it completes, the line.
func joinEntry(origin, hash Hash, inner []Hash, line []byte) Entry {
	data := make([]byte, 0, len(hash)*(1+len(inner))+1+len(line))
	data = append(append(data, hash[:]...), byte(len(inner)))
	for _, h := range inner {
		data = append(data, h[:]...)
	}
	return Entry{Key: origin, Data: append(data, line...)}
}

// splitEntry is the reverse; inner and line lie within the entry. It checks the form alone.
func splitEntry(e Entry) (hash Hash, inner, line []byte, err error) {
	const fixed = len(hash) + 1
	at := fixed
	if len(e.Data) > fixed {
		copy(hash[:], e.Data)
		at += int(e.Data[len(hash)]) * len(hash)
	}
	if len(e.Data) <= at || at > fixed+maxInner*len(hash) {
		return Hash{}, nil, nil, &EventError{Seq: e.Pos, Err: fmt.Errorf("%w: %d bytes", ErrCorrupt, len(e.Data))}
	}
	return hash, e.Data[fixed:at], e.Data[at:], nil
}
