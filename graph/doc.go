// Package graph is the memory graph: nodes and edges folded from the event log, readable as they were at any event.
//
// It refuses rather than invents: a record of another log, out of order, or one that repeats an earlier one is an error
// and changes nothing. The whole folder is disposable, because every row follows from the log.
//
// # Nouns
//
// A [Graph] has one mutator, [Graph.Apply], which takes an events.Record; a record is proof that the log holds the event
// and that its seal is genuine. So a receipt node and its edges exist only by folding a sealed record: there is no way to
// put a node. A [View] reads the graph as of one event. A [Node] is immutable; what changes is which node is current.
//
//	g, err := graph.Open(dir, log.Origin())
//	err = g.Apply(rec)
//	v := g.View()
//	defer v.Close()
//	for n, err := range v.List(graph.KindReceipt) { … }
//
// # Storage
//
// Badger in managed mode, commit timestamp = sequence number of the event, nothing ever discarded: a transaction opened
// at seq N sees every table as it was after event N. Keys are binary and of fixed width; strings are hashed into them,
// and lists run newest first by the inverted sequence number. See key.go for the tables.
//
// Writes are not synced: after a crash the fold goes on from the last event that was kept. A Graph and its Views are safe
// for concurrent use, with one Apply at a time.
package graph
