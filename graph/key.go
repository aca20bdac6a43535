package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/dalkkak/dkgraph/events"
)

// The tables. Every key begins with the byte of its table; numbers are big-endian; ^seq is the inverted sequence number,
// so that the newest comes first; hash16 is the first half of a SHA-256 of a string.
const (
	tabNode    = 0x01 // id → node
	tabOut     = 0x02 // src, edge kind, ^seq, dst
	tabIn      = 0x03 // dst, edge kind, ^seq, src
	tabKind    = 0x04 // kind, ^seq, id
	tabName    = 0x07 // hash16 of a name, ^seq, id: claim ids, memory keys
	tabVerdict = 0x08 // claim → id of the receipt that counts; the verdict is in the user meta
	tabReceipt = 0x09 // claim, ^seq → id of a receipt
	tabThread  = 0x0b // thread, ^seq → id of a claim
	tabSeq     = 0x0c // seq → id of the node that the event made
	tabPending = 0x0d // seq of a claim without a receipt → id of the claim
	tabMeta    = 0x0e // name → value
	tabWanted  = 0x0f // hash16 of a memory key nobody has noted yet, ^seq, src, edge kind
	tabPack    = 0x10 // hash16 of a rule pack's digest → seq of the newest event that holds its source
)

const idLen = len(events.ID{})

type keyBuf []byte

func key(table byte) keyBuf { return append(make(keyBuf, 0, 48), table) }

func (k keyBuf) id(id events.ID) keyBuf   { return append(k, id[:]...) }
func (k keyBuf) seq(n uint64) keyBuf      { return binary.BigEndian.AppendUint64(k, n) }
func (k keyBuf) newest(seq uint64) keyBuf { return k.seq(^seq) }
func (k keyBuf) edge(e EdgeKind) keyBuf   { return binary.BigEndian.AppendUint16(k, uint16(e)) }
func (k keyBuf) kind(kind Kind) keyBuf    { return append(k, byte(kind)) }
func (k keyBuf) hash(parts ...string) keyBuf {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return append(k, h.Sum(nil)[:16]...)
}

// tail reads the fixed-width members at the end of a key.
func tailID(k []byte) events.ID { return events.ID(k[len(k)-idLen:]) }

// parseEdge reads a row of tabOut or tabIn.
func parseEdge(k []byte) Edge {
	near, far := events.ID(k[1:1+idLen]), tailID(k)
	e := Edge{
		From: near, To: far,
		Kind: EdgeKind(binary.BigEndian.Uint16(k[1+idLen:])),
		Seq:  ^binary.BigEndian.Uint64(k[3+idLen:]),
	}
	if k[0] == tabIn {
		e.From, e.To = far, near
	}
	return e
}

// idRange returns the first and the last id that begins with a text.
func idRange(text string) (lo, hi events.ID, ok bool) {
	const full = 26
	if len(text) < 4 || len(text) > full {
		return lo, hi, false // shorter ones name half the store
	}
	text = strings.ToUpper(text)
	lo, err1 := events.ParseID(text + strings.Repeat("0", full-len(text)))
	hi, err2 := events.ParseID(text + strings.Repeat("Z", full-len(text)))
	return lo, hi, err1 == nil && err2 == nil
}
