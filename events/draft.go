package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Draft is what somebody wants recorded. It is a struct and not an interface, because an interface with an unexported
// method can be forged by embedding a genuine value. Outside this package a Draft comes only from the constructors
// below, which make the observed kinds, or from an [Issuer], which seals.
type Draft struct {
	kind    Kind
	origin  Hash
	payload []byte // compact JSON
	seen    *Seen
	seal    *Seal
}

// Kind returns what the draft is about.
func (d Draft) Kind() Kind { return d.kind }

// Origin returns the key under which the log will know the draft.
func (d Draft) Origin() Hash { return d.origin }

// Seen returns where it was seen; the zero value if nowhere.
func (d Draft) Seen() Seen {
	if d.seen == nil {
		return Seen{}
	}
	return *d.seen
}

// InWorkspace returns d with its workspace set. The workspace is part of where a thing was seen, not of its identity.
func (d Draft) InWorkspace(w string) Draft {
	if d.seen != nil {
		s := *d.seen
		s.Workspace = w
		d.seen = &s
	}
	return d
}

// A payloadOf value is the payload of one kind.
type payloadOf interface{ eventKind() Kind }

func (Genesis) eventKind() Kind       { return KindLogCreated }
func (Session) eventKind() Kind       { return KindSessionSeen }
func (Node) eventKind() Kind          { return KindNodeNoted }
func (Summary) eventKind() Kind       { return KindSummaryNoted }
func (Claim) eventKind() Kind         { return KindClaimMade }
func (Ignored) eventKind() Kind       { return KindMarkerIgnored }
func (Damage) eventKind() Kind        { return KindTranscriptDamaged }
func (Annotation) eventKind() Kind    { return KindAnnotationAdded }
func (PackInstalled) eventKind() Kind { return KindPackInstalled }
func (Activation) eventKind() Kind    { return KindRulesActivated }
func (Gate) eventKind() Kind          { return KindGateDecided }
func (Run) eventKind() Kind           { return KindRunObserved }
func (Receipt) eventKind() Kind       { return KindReceiptIssued }

// DraftPayload decodes the payload of a draft, for callers that want to look at what they are about to append.
func DraftPayload[T payloadOf](d Draft) (T, error) { return decodePayload[T](d.kind, d.payload) }

func decodePayload[T payloadOf](k Kind, payload []byte) (T, error) {
	var v T
	if v.eventKind() != k {
		return v, fmt.Errorf("%w: want %s, have %s", ErrKind, v.eventKind(), k)
	}
	if err := json.Unmarshal(payload, &v); err != nil {
		return v, fmt.Errorf("payload of %s: %w", k, err)
	}
	return v, nil
}

// SessionSeen drafts the first sight of an agent's session.
func SessionSeen(seen Seen) (Draft, error) {
	if seen.Agent == "" || seen.Session == "" {
		return Draft{}, errors.New("session: agent and session id are needed")
	}
	return newDraft(Session{Agent: seen.Agent, Session: seen.Session}, &seen, seen.Agent, seen.Session)
}

// NodeNoted drafts a memory node. It refuses types that only the store writes ([ErrStoreOnly]) and a confirmed node
// without evidence ([ErrNoEvidence]).
func NodeNoted(n Node, seen Seen) (Draft, error) {
	switch {
	case n.NodeType == "" || n.Title == "":
		return Draft{}, fmt.Errorf("%w: node_type and title are needed", ErrShape)
	case StoreOnly(n.NodeType):
		return Draft{}, fmt.Errorf("%w: node_type %q", ErrStoreOnly, n.NodeType)
	case strings.ContainsFunc(n.NodeType, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		// Letters of other alphabets look like these: a type must read as what it is.
		return Draft{}, fmt.Errorf("%w: node_type %q is not of plain letters", ErrShape, n.NodeType)
	case len(n.Edges) > MaxLinks:
		return Draft{}, fmt.Errorf("%w: %d edges, the limit is %d", ErrOversize, len(n.Edges), MaxLinks)
	case !slices.Contains([]string{"confirmed", "inferred", "hypothesis"}, n.Provenance):
		return Draft{}, fmt.Errorf("%w: provenance %q is none of confirmed, inferred, hypothesis", ErrShape, n.Provenance)
	case n.Provenance == "confirmed" && !isObject(n.Evidence):
		return Draft{}, ErrNoEvidence
	}
	for _, e := range n.Edges {
		if !slices.Contains(agentEdges, e.Kind) || e.To == "" {
			return Draft{}, fmt.Errorf("%w: edge %q to %q", ErrShape, e.Kind, e.To)
		}
	}
	if err := fits(n.NodeType, MaxLabelBytes, n.Key, MaxLabelBytes, n.Title, MaxTitleBytes, n.Raw, MaxMarkerBytes); err != nil {
		return Draft{}, err
	}
	return newDraft(n, &seen, seen.Agent, seen.Turn, strconv.Itoa(seen.Ordinal), n.Raw)
}

// agentEdges are the kinds of edge an agent may name. Edges to and from receipts are the store's own.
var agentEdges = []string{"caused_by", "triggers", "blocked_by", "depends", "relates", "supersedes"}

// SummaryNoted drafts a summary of a reply.
func SummaryNoted(s Summary, seen Seen) (Draft, error) {
	if !slices.Contains([]string{"recap", "plan", "question", "concept", "note"}, s.Kind) {
		return Draft{}, fmt.Errorf("%w: kind %q is none of recap, plan, question, concept, note", ErrShape, s.Kind)
	}
	if !isObject(s.Data) {
		return Draft{}, fmt.Errorf("%w: data is not an object", ErrShape)
	}
	if err := fits(s.Raw, MaxMarkerBytes); err != nil {
		return Draft{}, err
	}
	return newDraft(s, &seen, seen.Agent, seen.Turn, strconv.Itoa(seen.Ordinal), s.Raw)
}

// ClaimMade drafts a claim.
func ClaimMade(c Claim, seen Seen) (Draft, error) {
	if c.ClaimID == "" || c.Text == "" || c.Kind == "" {
		return Draft{}, fmt.Errorf("%w: id, claim and kind are needed", ErrShape)
	}
	if strings.TrimSpace(c.Verify) == "" && c.Kind != "file" {
		return Draft{}, fmt.Errorf("%w: verify is needed for a claim of kind %q", ErrShape, c.Kind)
	}
	c.About = unique(c.About)
	if len(c.About) > MaxLinks {
		return Draft{}, fmt.Errorf("%w: it is about %d nodes, the limit is %d", ErrOversize, len(c.About), MaxLinks)
	}
	err := fits(c.ClaimID, MaxLabelBytes, c.Kind, MaxLabelBytes, c.Verify, MaxVerifyBytes, c.CWD, MaxVerifyBytes,
		c.Raw, MaxMarkerBytes)
	if err != nil {
		return Draft{}, err
	}
	return newDraft(c, &seen, seen.Agent, seen.Turn, strconv.Itoa(seen.Ordinal), c.Raw)
}

// MarkerIgnored drafts a look-alike of a marker, with the reason why it is none. A better parser can look again.
func MarkerIgnored(i Ignored, seen Seen) (Draft, error) {
	if i.Reason == "" {
		return Draft{}, fmt.Errorf("%w: reason is needed", ErrShape)
	}
	whole := i.Raw
	i.Raw = clip(i.Raw, MaxRawBytes)
	i.Detail = clip(i.Detail, MaxTitleBytes)
	return newDraft(i, &seen, seen.Agent, seen.Turn, strconv.Itoa(seen.Block), strconv.Itoa(seen.Ordinal), i.Reason, whole)
}

// TranscriptDamaged drafts a part of a transcript that could not be read.
func TranscriptDamaged(d Damage, seen Seen) (Draft, error) {
	if d.What == "" {
		return Draft{}, fmt.Errorf("%w: what is needed", ErrShape)
	}
	d.Detail = clip(d.Detail, MaxTitleBytes)
	return newDraft(d, &seen, seen.Agent, seen.Session, d.What, d.LineSHA256, strconv.FormatInt(d.Length, 10))
}

// AnnotationAdded drafts a person's word about a node. at makes two equal annotations two events.
func AnnotationAdded(a Annotation, seen Seen) (Draft, error) {
	if a.Target == "" || a.Text == "" {
		return Draft{}, fmt.Errorf("%w: target and text are needed", ErrShape)
	}
	return newDraft(a, &seen, a.Target, a.Text, a.By, seen.At.UTC().String())
}

// newDraft encodes p; its origin key is made of its kind and identity.
func newDraft(p payloadOf, seen *Seen, identity ...string) (Draft, error) {
	payload, err := encode(p)
	if err != nil {
		return Draft{}, err
	}
	kind := p.eventKind()
	return Draft{
		kind:    kind,
		origin:  KeyOf(append([]string{string(kind)}, identity...)...),
		payload: payload,
		seen:    seen,
	}, nil
}

// encode writes v as one line of compact JSON without HTML escapes. Invalid UTF-8 becomes U+FFFD, as encoding/json does.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// unique drops what is in a list a second time.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) > MaxLinks {
			return list // over the limit whatever follows
		}
	}
	return out
}

// isObject reports whether raw is an object that says anything.
func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && len(m) > 0
}

// fits takes pairs of a string and its limit in bytes.
func fits(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		s, limit := pairs[i].(string), pairs[i+1].(int)
		if len(s) > limit {
			return fmt.Errorf("%w: %q… has %d bytes, the limit is %d", ErrOversize, clip(s, 24), len(s), limit)
		}
	}
	return nil
}

// clip cuts s to at most n bytes, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
