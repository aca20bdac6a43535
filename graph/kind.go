package graph

import "fmt"

// A Kind is what a node is. The numbers are stored.
type Kind byte

// The kinds of node.
const (
	KindAgent      Kind = 1
	KindSession    Kind = 2
	KindMessage    Kind = 3
	KindMemory     Kind = 4 // what an agent noted
	KindSummary    Kind = 5
	KindThread     Kind = 6 // all claims under one id of one session
	KindClaim      Kind = 7
	KindGate       Kind = 8
	KindRun        Kind = 9
	KindReceipt    Kind = 10
	KindRuleset    Kind = 11
	KindAnnotation Kind = 12
)

var kindNames = map[Kind]string{
	KindAgent: "agent", KindSession: "session", KindMessage: "message", KindMemory: "memory", KindSummary: "summary",
	KindThread: "thread", KindClaim: "claim", KindGate: "gate_decision", KindRun: "run",
	KindReceipt: "verification_receipt", KindRuleset: "ruleset", KindAnnotation: "annotation",
}

func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind(%d)", byte(k))
}

// MarshalText implements [encoding.TextMarshaler].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *Kind) UnmarshalText(b []byte) error {
	for kind, name := range kindNames {
		if name == string(b) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown kind of node %q", b)
}

// An EdgeKind says how two nodes are related. The numbers are stored.
type EdgeKind uint16

// The kinds of edge, each from its first to its second node.
const (
	EdgeAssertedIn  EdgeKind = 1  // memory, summary, claim → message
	EdgeInSession   EdgeKind = 2  // message → session
	EdgeByAgent     EdgeKind = 3  // session → agent
	EdgeOfThread    EdgeKind = 4  // claim → thread
	EdgeReasserts   EdgeKind = 5  // claim → claim, memory → memory: the same said again
	EdgeSupersedes  EdgeKind = 6  // claim → claim, memory → memory: said otherwise
	EdgeAbout       EdgeKind = 7  // claim → memory
	EdgeGates       EdgeKind = 8  // gate → claim
	EdgePermittedBy EdgeKind = 9  // run → gate
	EdgeExecutes    EdgeKind = 10 // run → claim
	EdgeVerifies    EdgeKind = 11 // receipt → claim
	EdgeAttests     EdgeKind = 12 // receipt → memory
	EdgeBasedOn     EdgeKind = 13 // receipt → run
	EdgeGatedBy     EdgeKind = 14 // receipt → gate
	EdgeUnder       EdgeKind = 15 // gate, receipt → ruleset
	EdgeRevises     EdgeKind = 16 // receipt → receipt
	EdgeAnnotates   EdgeKind = 18 // annotation → any
	EdgeOverrides   EdgeKind = 19 // annotation → receipt

	// Edges that agents name on their own nodes.
	EdgeCausedBy  EdgeKind = 101
	EdgeTriggers  EdgeKind = 102
	EdgeBlockedBy EdgeKind = 103
	EdgeDepends   EdgeKind = 104
	EdgeRelates   EdgeKind = 105
)

var edgeNames = map[EdgeKind]string{
	EdgeAssertedIn: "asserted_in", EdgeInSession: "in_session", EdgeByAgent: "by_agent", EdgeOfThread: "of_thread",
	EdgeReasserts: "reasserts", EdgeSupersedes: "supersedes", EdgeAbout: "about", EdgeGates: "gates",
	EdgePermittedBy: "permitted_by", EdgeExecutes: "executes", EdgeVerifies: "verifies", EdgeAttests: "attests",
	EdgeBasedOn: "based_on", EdgeGatedBy: "gated_by", EdgeUnder: "under", EdgeRevises: "revises",
	EdgeAnnotates: "annotates", EdgeOverrides: "overrides",
	EdgeCausedBy: "caused_by", EdgeTriggers: "triggers", EdgeBlockedBy: "blocked_by", EdgeDepends: "depends",
	EdgeRelates: "relates",
}

func (k EdgeKind) String() string {
	if s, ok := edgeNames[k]; ok {
		return s
	}
	return fmt.Sprintf("edge(%d)", uint16(k))
}

// MarshalText implements [encoding.TextMarshaler].
func (k EdgeKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// agentEdge returns the kind of an edge that an agent named.
func agentEdge(name string) (EdgeKind, bool) {
	if name == EdgeSupersedes.String() {
		return EdgeSupersedes, true
	}
	for k, n := range edgeNames {
		if k >= EdgeCausedBy && n == name {
			return k, true
		}
	}
	return 0, false
}
