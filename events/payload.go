package events

import (
	"encoding/json"
	"slices"
	"time"
)

// Limits on what a draft may hold, in bytes unless it says otherwise. They bound what a hostile transcript can make the store keep.
const (
	MaxMarkerBytes = 64 << 10
	MaxLabelBytes  = 256      // ids, keys, types and the like
	MaxTitleBytes  = 1 << 10  // titles
	MaxVerifyBytes = 8 << 10  // a command to re-run
	MaxRawBytes    = 4 << 10  // the raw text kept of a marker that was ignored
	MaxEventBytes  = 1000_000 // a whole event line; see ErrTooLarge
	MaxLinks       = 64       // nodes that one claim is about, or edges that one node names
)

// Seen says where and when something was seen. It is not part of an event's identity.
type Seen struct {
	Agent        string    `json:"agent,omitempty"`         // claude, codex, gemini, antigravity
	AgentVersion string    `json:"agent_version,omitempty"` // as the transcript states it
	Session      string    `json:"session,omitempty"`       // the agent's own session id
	Turn         string    `json:"turn,omitempty"`          // the agent's key of the message
	Record       string    `json:"record,omitempty"`        // the agent's id of the transcript line
	Block        int       `json:"block,omitempty"`         // content block within the line
	Ordinal      int       `json:"ordinal,omitempty"`       // marker within the block, from 0
	Source       string    `json:"source,omitempty"`        // the transcript's path as it was given
	Offset       int64     `json:"offset,omitempty"`        // byte offset of the line in the source
	LineSHA256   string    `json:"line_sha256,omitempty"`   // of the line without its line end
	CWD          string    `json:"cwd,omitempty"`           // working folder the record states; "" is unknown
	Workspace    string    `json:"workspace,omitempty"`     // set by the projector from its granted roots
	At           time.Time `json:"at,omitzero"`             // the transcript's clock: untrusted, never an order
}

// Genesis is the payload of [KindLogCreated], the first event of every log.
type Genesis struct {
	Origin    string `json:"origin"`     // the log's name, for ever
	PublicKey string `json:"public_key"` // Ed25519, base64
	Format    int    `json:"format"`     // version of the event form
}

// Session is the payload of [KindSessionSeen].
type Session struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
}

// Node is the payload of [KindNodeNoted]: something the agent wants remembered, in the agent's words.
type Node struct {
	NodeType   string          `json:"node_type"`
	Key        string          `json:"key,omitempty"`
	Title      string          `json:"title"`
	Body       string          `json:"body,omitempty"`
	Provenance string          `json:"provenance"`         // confirmed, inferred, hypothesis
	Evidence   json.RawMessage `json:"evidence,omitempty"` // required when confirmed
	Edges      []NodeEdge      `json:"edges,omitempty"`
	Raw        string          `json:"raw"` // the JSON between the tags, as written
}

// NodeEdge is an edge an agent names on its own node.
type NodeEdge struct {
	Kind string `json:"kind"` // caused_by, triggers, blocked_by, depends, relates, supersedes
	To   string `json:"to"`   // the key of another node, or type/key
}

// Summary is the payload of [KindSummaryNoted].
type Summary struct {
	Kind string          `json:"kind"` // recap, plan, question, concept, note
	Data json.RawMessage `json:"data"`
	Raw  string          `json:"raw"`
}

// Claim is the payload of [KindClaimMade]: what the agent says is so, and how that can be checked.
type Claim struct {
	ClaimID string          `json:"claim_id"`
	Text    string          `json:"text"`
	Kind    string          `json:"kind"`             // test, build, lint, typecheck, file, command, or another word
	Verify  string          `json:"verify,omitempty"` // a command; for kind file also a path
	CWD     string          `json:"cwd,omitempty"`    // agent-written; the record's own is in Seen
	Expect  json.RawMessage `json:"expect,omitempty"` // kept as written; read by package rules
	About   []string        `json:"about,omitempty"`  // keys of memory nodes
	Raw     string          `json:"raw"`
}

// Ignored is the payload of [KindMarkerIgnored]: text that looked like a marker and was not taken as one.
type Ignored struct {
	Marker string `json:"marker"`           // dk-node, dk-summary, dk-verify
	Reason string `json:"reason"`           // a stable code, see package transcript
	Detail string `json:"detail,omitempty"` // for people
	Raw    string `json:"raw"`              // capped at MaxRawBytes
}

// Damage is the payload of [KindTranscriptDamaged].
type Damage struct {
	What       string `json:"what"`             // a stable code, see package transcript
	Detail     string `json:"detail,omitempty"` // for people
	Length     int64  `json:"length"`           // bytes that could not be used
	LineSHA256 string `json:"line_sha256,omitempty"`
}

// Annotation is the payload of [KindAnnotationAdded]: a person's word, shown beside a receipt, never instead of it.
type Annotation struct {
	Target   string `json:"target"` // id of a node
	Text     string `json:"text"`
	Override string `json:"override,omitempty"`
	By       string `json:"by,omitempty"`
}

// A Ref names another event by its place and by the hash of its line, so that it can be neither moved nor replaced.
type Ref struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// PackInstalled is the payload of [KindPackInstalled]: the whole source of a rule pack, so that replay needs no file.
type PackInstalled struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Source  string `json:"source"`
}

// Activation is the payload of [KindRulesActivated]: which packs decide from now on. The operator makes one to say which
// packs are in force. The store makes one when the rules of a call are others than those before: the call added packs,
// or a newer program brought newer default packs. Such a one names the operator's that it rests on.
type Activation struct {
	Ruleset  string       `json:"ruleset"` // digest over packs and modes
	Packs    []ActivePack `json:"packs"`
	After    uint64       `json:"after,omitempty"`    // seq of the activation this one replaces
	By       string       `json:"by,omitempty"`       // operator; "" is the store
	Standing uint64       `json:"standing,omitempty"` // seq of the operator's that was in force; 0 is none
}

// ActivePack is one pack of an [Activation].
type ActivePack struct {
	Name   string            `json:"name"`
	Digest string            `json:"digest"`
	Modes  map[string]string `json:"modes,omitempty"` // rule id → enforce, shadow, off; enforce when absent

	Default bool `json:"default,omitempty"` // it came with the program; a newer program puts its own in the place of it
	Tighten bool `json:"tighten,omitempty"` // it came from the agent's repository: it may refuse and accuse, nothing else
}

// RuleOutcome says what one rule made of the facts.
type RuleOutcome struct {
	Rule    string   `json:"rule"`
	Digest  string   `json:"digest,omitempty"`
	Effect  string   `json:"effect"`            // allow, deny, require, fail, inconclusive
	Outcome string   `json:"outcome"`           // match, no_match, error
	Mode    string   `json:"mode,omitempty"`    // shadow: it decided nothing
	Call    int      `json:"call,omitempty"`    // from 1: the simple command it looked at; 0 is the whole
	Reason  string   `json:"reason,omitempty"`  // stable code, for outcomes that count
	Message string   `json:"message,omitempty"` // for people
	Values  []string `json:"values,omitempty"`  // "expression = value", for outcomes that decided
}

// Gate is the payload of [KindGateDecided].
type Gate struct {
	Claim       Ref             `json:"claim"`
	Ruleset     string          `json:"ruleset"`
	Decision    string          `json:"decision"` // allow, refuse
	Reason      string          `json:"reason"`
	Why         string          `json:"why"`
	Rules       []RuleOutcome   `json:"rules"`
	Facts       json.RawMessage `json:"facts"` // what the rules read, recorded so that replay reads the same
	FactsDigest string          `json:"facts_digest"`
	Engine      string          `json:"engine"`
}

// Receipt is the payload of [KindReceiptIssued].
type Receipt struct {
	Claim         Ref           `json:"claim"`
	Gate          *Ref          `json:"gate,omitempty"`
	Run           *Ref          `json:"run,omitempty"`
	Verdict       Verdict       `json:"verdict"`
	Reason        string        `json:"reason"`
	Why           string        `json:"why"`
	Rules         []RuleOutcome `json:"rules"` // of the judge; of the gate when it is unsafe
	Ruleset       string        `json:"ruleset"`
	InputDigest   string        `json:"input_digest"`
	VerdictDigest string        `json:"verdict_digest"`
	Engine        string        `json:"engine"`
	Mode          string        `json:"mode"` // live, replay
	Supersedes    *Ref          `json:"supersedes,omitempty"`
}

// Deciding returns the ids of the rules that made the verdict, each once, in order.
func (r Receipt) Deciding() []string {
	ids := []string{}
	for _, o := range r.Rules {
		if o.decides(r.Verdict, r.Reason) && !slices.Contains(ids, o.Rule) {
			ids = append(ids, o.Rule)
		}
	}
	return ids
}

// decides reports whether an outcome is one that made a receipt of the given verdict and reason.
func (o RuleOutcome) decides(v Verdict, reason string) bool {
	if o.Mode != "" {
		return false
	}
	if o.Outcome == "error" {
		return reason == "rule_error"
	}
	switch v {
	case Verified:
		return o.Effect == "require" && o.Outcome == "match"
	case Failed:
		return (o.Effect == "fail" && o.Outcome == "match") || (o.Effect == "require" && o.Outcome == "no_match")
	case Unrunnable:
		return o.Effect == "inconclusive" && o.Outcome == "match"
	case Unsafe:
		return o.Effect == "deny" && o.Outcome == "match"
	default:
		return false
	}
}
