package badgerlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/dalkkak/dkgraph/events"
)

// A head is how far the log reached at some time: a lower bound of how far it reaches now.
type head struct {
	pos  uint64
	hash events.Hash // the first 32 bytes of the entry's data, which for an event are its hash
}

func headOf(pos uint64, data []byte) head {
	h := head{pos: pos}
	copy(h.hash[:], data)
	return h
}

const (
	headMagic  = "dkhead1\n"
	headSize   = len(headMagic) + 8 + 8 + 32 + 4
	slotStride = 4096 // a torn write of one slot cannot touch the other
)

// A headFile keeps the head outside of Badger's folder, because a WAL or a MANIFEST that lost its end looks to Badger
// like one that never had it. It has two slots that are written in turn. A commit does not sync it: what a power loss
// leaves is an older head, and an older head is still a true lower bound.
//
// Its lock is the store's: it is taken before anything in Badger's folder is looked at.
type headFile struct {
	f       *os.File
	counter uint64 // of the newest slot
	missing bool   // there was no file, an empty one, or none of its slots is readable
	head    head
	fresh   bool // there was no file
}

// openHead opens, locks and reads the head file, and makes one if there is none.
func openHead(dir string) (*headFile, error) {
	_, err := os.Stat(headPath(dir))
	fresh := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(headPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	h := &headFile{f: f, fresh: fresh}
	if err := h.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", f.Name(), err), f.Close())
	}
	return h, nil
}

func (h *headFile) read() error {
	h.missing = true
	for slot := range int64(2) {
		buf := make([]byte, headSize)
		if _, err := h.f.ReadAt(buf, slot*slotStride); errors.Is(err, io.EOF) {
			continue
		} else if err != nil {
			return err
		}
		if hd, counter, ok := decodeHead(buf); ok && counter > h.counter {
			h.head, h.counter, h.missing = hd, counter, false
		}
	}
	return nil
}

func decodeHead(buf []byte) (h head, counter uint64, ok bool) {
	body, sum := buf[:headSize-4], binary.BigEndian.Uint32(buf[headSize-4:])
	if string(body[:len(headMagic)]) != headMagic || crc32.Checksum(body, castagnoli) != sum {
		return head{}, 0, false
	}
	body = body[len(headMagic):]
	h.pos = binary.BigEndian.Uint64(body[8:])
	copy(h.hash[:], body[16:])
	return h, binary.BigEndian.Uint64(body), true
}

// write puts hd in the older slot.
func (h *headFile) write(hd head) error {
	h.counter++
	buf := append(make([]byte, 0, headSize), headMagic...)
	buf = binary.BigEndian.AppendUint64(buf, h.counter)
	buf = binary.BigEndian.AppendUint64(buf, hd.pos)
	buf = append(buf, hd.hash[:]...)
	buf = binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
	if _, err := h.f.WriteAt(buf, int64(h.counter%2)*slotStride); err != nil {
		return fmt.Errorf("write %s: %w", h.f.Name(), err)
	}
	h.head, h.missing = hd, false
	return nil
}

// begin writes hd in both slots and makes the file durable: it then has the blocks that later writes need.
func (h *headFile) begin(hd head) error {
	if err := errors.Join(h.write(hd), h.write(hd)); err != nil {
		return err
	}
	if err := h.f.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(h.f.Name()))
}

func (h *headFile) sync() error { return h.f.Sync() }

// close gives the store's lock back.
func (h *headFile) close() error { return h.f.Close() }
