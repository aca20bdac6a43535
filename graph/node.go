package graph

import (
	"encoding/json"
	"time"

	"github.com/dalkkak/dkgraph/events"
)

// A Node is one thing in the graph, as one event asserted it.
type Node struct {
	ID        events.ID       `json:"id"`
	Kind      Kind            `json:"kind"`
	Type      string          `json:"type,omitempty"`  // of a memory node, in the agent's words
	Name      string          `json:"name,omitempty"`  // the claim's id, the memory's key, the session, …
	Title     string          `json:"title,omitempty"` // one line for people
	Workspace string          `json:"workspace,omitempty"`
	Seq       uint64          `json:"seq"`           // of the event that asserted it first
	Hash      events.Hash     `json:"hash,omitzero"` // of that event's line
	At        time.Time       `json:"at,omitzero"`   // the transcript's clock for what agents said, else the store's
	Recorded  time.Time       `json:"recorded"`
	Body      json.RawMessage `json:"body,omitempty"` // the event's payload
	Seen      *events.Seen    `json:"seen,omitempty"`
}

// Ref returns a reference to the event that asserted n.
func (n Node) Ref() events.Ref { return events.Ref{Seq: n.Seq, Hash: n.Hash} }

// Decode returns the payload of the event that made n.
func Decode[T any](n Node) (T, error) {
	var v T
	err := json.Unmarshal(n.Body, &v)
	return v, err
}

// An Edge is a directed relation that one event asserted.
type Edge struct {
	From events.ID `json:"from"`
	Kind EdgeKind  `json:"kind"`
	To   events.ID `json:"to"`
	Seq  uint64    `json:"seq"`
}
