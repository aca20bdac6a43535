package events

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A checkpoint is a signed note in the c2sp tlog-checkpoint format: the log's origin, the size and the root of its tree,
// signed by the log's key.
//
//	dkgraph/01KBB…
//	7
//	wV0aJ5…=
//
//	— dkgraph/01KBB… Az3grl…

// ErrCheckpoint: a text is no checkpoint of this log, or its signature is not by this log's key.
var ErrCheckpoint = errors.New("no checkpoint of this log")

// Checkpoint signs a tree. The caller makes sure that it extends the last one signed, see Log.Extends.
func (i *Issuer) Checkpoint(t Tree) ([]byte, error) {
	if i == nil || len(i.key) != ed25519.PrivateKeySize {
		return nil, errors.New("issuer without a key")
	}
	signer, err := noteSigner(i.origin, i.key)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", i.origin, t.Size, tlog.Hash(t.Root))
	return note.Sign(&note.Note{Text: text}, signer)
}

// OpenCheckpoint checks the signature of a checkpoint with a key in note's form (see Log.VerifierKey) and returns what it
// says.
func OpenCheckpoint(vkey string, signed []byte) (origin string, t Tree, err error) {
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return "", t, fmt.Errorf("verifier key: %w", err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		return "", t, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	lines := strings.SplitN(n.Text, "\n", 4)
	if len(lines) < 4 || lines[0] != v.Name() {
		return "", t, fmt.Errorf("%w: its text is not of the form origin, size, root", ErrCheckpoint)
	}
	if _, err := fmt.Sscanf(lines[1], "%d", &t.Size); err != nil || fmt.Sprint(t.Size) != lines[1] {
		return "", t, fmt.Errorf("%w: size %q", ErrCheckpoint, lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return "", t, fmt.Errorf("%w: root %q", ErrCheckpoint, lines[2])
	}
	t.Root = Hash(root)
	return lines[0], t, nil
}

// VerifierKey returns the log's public key in the form in which checkpoints and proofs are checked: name+hash+key.
func (l *Log) VerifierKey() (string, error) {
	return note.NewEd25519VerifierKey(l.verify.origin, l.verify.key)
}

// noteSigner makes note's form of a private key, which it has no constructor for.
func noteSigner(origin string, key ed25519.PrivateKey) (note.Signer, error) {
	vkey, err := note.NewEd25519VerifierKey(origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, err
	}
	return signer{v, key}, nil
}

type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

func (s signer) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key, msg), nil }

// Attest signs a payload as a DSSE envelope does, and names the key. What it signs begins with "DSSEv1", so that it can be
// mistaken neither for a seal nor for a checkpoint.
func (i *Issuer) Attest(payloadType string, payload []byte) (keyID string, sig []byte, err error) {
	if i == nil || len(i.key) != ed25519.PrivateKeySize {
		return "", nil, errors.New("issuer without a key")
	}
	pae := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
	return Sum(i.key.Public().(ed25519.PublicKey)).String(), ed25519.Sign(i.key, pae), nil
}
