// Package events is the append-only record of what agents said and what the store saw.
//
// The log stops rather than guess: an unsealed verdict, a gap, a hash that does not match or a broken chain is an error
// that names the event, never a line that is skipped. Nothing is ever updated or deleted.
//
// # Nouns
//
// A [Draft] is what somebody wants recorded. A [Record] is what the log holds: only a [Log] makes one, after checking
// its hash, its place in the chain and, where its kind needs one, its seal. A [Backend] keeps bytes in order and knows
// nothing of their meaning. An [Issuer] holds the key that seals what a verdict rests on.
//
//	log, err := events.Open(ctx, backend, events.Options{})
//	recs, err := log.Append(ctx, draft)
//	for rec, err := range log.Read(ctx, 1) { … }
//
// # The form of an event
//
// An event is one line of JSON, stored and hashed as those exact bytes:
//
//	{"seq":7,"id":"01KBB…","time":"2026-11-30T11:05:24.123Z","kind":"claim.made","v":1,"origin":"9f…","prev":"4c…",
//	 "payload":{…},"seen":{…},"seal":{…}}
//
// seq counts from 1 without a gap, in commit order. id is a ULID: a name, never an order. origin is the key under which
// the same thing is known for ever, so that reading a transcript again adds nothing. prev is the hash of the line before
// (64 zeros for the first): SHA-256 over a zero byte and the line. payload is what was said; seen is where and when it was seen, and is no part of its
// identity, because a resumed or forked transcript says the same thing from another place. seal is an Ed25519 signature
// over the lines
//
//	dkgraph seal v1
//	<origin of the log>
//	<kind>
//	<origin key of the event>
//	<hash of the claim's line, or "-">
//	<digest of the rule set, or "-">
//	<SHA-256 of the payload>
//
// so that a sealed event cannot be moved to another claim, rule set or log.
//
// # The tree
//
// The hashes of the lines are the leaves of an RFC 6962 Merkle tree, so that a signed checkpoint of a few bytes ([Issuer.Checkpoint])
// names the whole log, a short [Proof] shows that one event is in it, and a log that was rewritten or cut back does not
// extend a checkpoint that somebody kept ([Log.Extends]).
//
// In the backend an event is: the hash of its line (32 bytes), a count (1 byte), so many hashes of the subtrees that the
// event completes, and the line. Every read checks the first hash against the line.
//
// # Concurrency and durability
//
// A Log is safe for concurrent use. Append returns only when the backend says that the events are durable.
package events
