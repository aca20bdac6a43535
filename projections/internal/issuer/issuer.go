// Package issuer is the home of the key that seals verdicts. Only projections can import it.
//
// It fails closed: a key file that others can read, or one that is not the log's, is refused.
//
// The file holds the 32-byte Ed25519 seed in base64, mode 0600, made together with the log. On one and the same user
// account this keeps out mistakes, not a hostile process that reads the file: see the README on trust.
package issuer

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dalkkak/dkgraph/events"
)

// ErrKey: the key file is missing, unreadable, open to others, or not this log's.
var ErrKey = errors.New("sealing key")

// File is the name of the key file within a store.
func File(store string) string { return filepath.Join(store, "keys", "seal.key") }

// A Key is a key that has not been bound to a log yet.
type Key struct{ private ed25519.PrivateKey }

// Create makes a key for a new store and writes its file.
func Create(store string) (Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, err
	}
	if err := Put(store, []byte(base64.StdEncoding.EncodeToString(private.Seed())+"\n")); err != nil {
		return Key{}, err
	}
	return Key{private}, nil
}

// Put writes the key file of a store, as it came from another one.
func Put(store string, content []byte) error {
	name := File(store)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	// A key that is there already is of an attempt that was cut short, or somebody else put it there and knows it. It is
	// set aside, not used and not lost.
	if err := os.Rename(name, name+".unused"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Load reads the key of a store.
func Load(store string) (Key, error) {
	name := File(store)
	info, err := os.Stat(name)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return Key{}, fmt.Errorf("%w: %s has mode %04o: others can read it; run chmod 600 on it", ErrKey, name, mode)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	seed, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(raw)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("%w: %s is no key", ErrKey, name)
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// Public returns the public half, to be pinned in the log's first event.
func (k Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// For returns the issuer of the log, if the key is that log's.
func (k Key) For(log *events.Log) (*events.Issuer, error) {
	if !k.Public().Equal(log.PublicKey()) {
		return nil, fmt.Errorf("%w: it is not the one pinned in the log's first event", ErrKey)
	}
	return events.NewIssuer(log.Origin(), k.private), nil
}
