// Package projections turns facts into verdicts: it is the only place where that happens, and the way to use dkgraph from
// another program.
//
// It fails towards doing nothing: a claim whose gate decision, evidence or verdict cannot be recorded stays unjudged, and
// is taken up again the next time. Nothing is run before the decision to run it is durable, and nothing is judged before
// the evidence is.
//
//	p, err := projections.Open(ctx, dir, projections.Options{Roots: []string{"."}})
//	defer p.Close()
//	in, err := p.Ingest(ctx, file, "session.jsonl")
//	results, err := p.Verify(ctx, in.Claims, projections.VerifyOptions{})
//
// # A store
//
// A store is a folder: log/ holds the events and is the truth; graph/ is folded from it and may be deleted at any time;
// keys/ holds the key that seals verdicts. One process has a store open at a time.
//
// A Projector is safe for concurrent use. Claims are verified one after the other; a slow command holds up no Ingest.
package projections
