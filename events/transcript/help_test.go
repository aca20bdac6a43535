package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dalkkak/dkgraph/events"
	"github.com/stretchr/testify/require"
)

// verify is a marker with the given claim id.
func verify(id string) string {
	return fmt.Sprintf(`<dk-verify>{"id":%q,"claim":"tests pass","kind":"test","verify":"go test ./..."}</dk-verify>`, id)
}

// recordLine is one line of a Claude transcript, with its line end. Keys in more replace those of the record.
func recordLine(kind, id string, message map[string]any, more map[string]any) []byte {
	rec := map[string]any{
		"type": kind, "uuid": "u-" + id, "sessionId": "s-1", "version": "2.0.69", "cwd": "/home/dev/app",
		"isSidechain": false, "timestamp": "2026-01-02T03:04:05.678Z",
	}
	if message != nil {
		rec["message"] = message
	}
	for k, v := range more {
		rec[k] = v
	}
	b, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

func assistantLine(id, text string) []byte {
	return blockLine(id, map[string]any{"type": "text", "text": text})
}

func blockLine(id string, blocks ...map[string]any) []byte {
	return recordLine("assistant", id, map[string]any{"id": "m-" + id, "role": "assistant", "content": blocks}, nil)
}

func userLine(id, text string) []byte {
	return recordLine("user", id, map[string]any{"role": "user", "content": text}, nil)
}

func toolResultLine(id, text string) []byte {
	return recordLine("user", id, map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "tool_result", "content": text}},
	}, nil)
}

// read drafts everything of a transcript.
func read(t require.TestingT, transcript string, src Source) ([]events.Draft, Stats) {
	if h, ok := t.(*testing.T); ok {
		h.Helper()
	}
	r := NewReader(strings.NewReader(transcript), src)
	var all []events.Draft
	for d, err := range r.Drafts() {
		require.NoError(t, err)
		all = append(all, d)
	}
	return all, r.Stats()
}

// claims are the ids of the claims among drafts.
func claims(t require.TestingT, drafts []events.Draft) []string {
	var ids []string
	for _, d := range drafts {
		if d.Kind() == events.KindClaimMade {
			c, err := events.DraftPayload[events.Claim](d)
			require.NoError(t, err)
			ids = append(ids, c.ClaimID)
		}
	}
	return ids
}

// brief writes drafts as "kind what", one a line.
func brief(t require.TestingT, drafts []events.Draft) []string {
	var all []string
	for _, d := range drafts {
		what := ""
		var err error
		switch d.Kind() {
		case events.KindClaimMade:
			var c events.Claim
			c, err = events.DraftPayload[events.Claim](d)
			what = c.ClaimID
		case events.KindMarkerIgnored:
			var i events.Ignored
			i, err = events.DraftPayload[events.Ignored](d)
			what = i.Reason
		case events.KindTranscriptDamaged:
			var m events.Damage
			m, err = events.DraftPayload[events.Damage](d)
			what = fmt.Sprint(m.What, " ", m.Length)
		case events.KindSessionSeen:
			what = d.Seen().Session
		case events.KindNodeNoted:
			var n events.Node
			n, err = events.DraftPayload[events.Node](d)
			what = n.Title
		case events.KindSummaryNoted:
			var s events.Summary
			s, err = events.DraftPayload[events.Summary](d)
			what = s.Kind
		}
		require.NoError(t, err)
		all = append(all, string(d.Kind())+" "+what)
	}
	return all
}
