package badgerlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// A wal is what can be read of a *.mem file, Badger's write-ahead log, without Badger. Badger stops reading at the first
// record that does not fit and cuts the file there without a word, so what lies behind is seen here or never.
type wal struct {
	name   string
	size   int64
	data   []byte // without the zeros at the end
	good   int    // where the last whole transaction ends
	last   uint64 // the last position in a whole transaction, 0 if there is none
	wild   bool   // the record at good claims a length that cannot be
	short  bool   // shorter than its own header
	header bool   // the header names an encryption key, and there is none
}

const (
	walHeader = 20
	walKey    = 8 // of the header: the number of the encryption key, always 0 here
	bitTxn    = 1 << 6
	bitFin    = 1 << 7
	maxWALKey = 1 << 16
)

func readWAL(dir, name string) (wal, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return wal{}, err
	}
	w := wal{name: name, size: int64(len(data)), short: len(data) < walHeader}
	w.data = bytes.TrimRight(data, "\x00")
	if !w.short {
		w.header = !bytes.Equal(data[:walKey], make([]byte, walKey))
		w.scan(data)
	}
	return w, nil
}

// scan walks the records as Badger does: a transaction counts when its end is there.
func (w *wal) scan(data []byte) {
	w.good = walHeader
	at, last := walHeader, w.last
	for {
		r, n := parseWALRecord(data[at:])
		if n <= 0 {
			w.wild = n < 0
			return
		}
		at += n
		if p, ok := r.position(); ok {
			last = max(last, p) // within a transaction they are in no order
		}
		if r.meta&bitFin != 0 || r.meta&bitTxn == 0 {
			w.good, w.last = at, last
		}
	}
}

type walRecord struct {
	meta byte
	key  []byte // with Badger's 8 bytes of version
}

func (r walRecord) position() (uint64, bool) {
	if r.meta&bitFin != 0 || len(r.key) != 17 || r.key[0] != prefixEntry {
		return 0, false
	}
	return binary.BigEndian.Uint64(r.key[1:]), true
}

// parseWALRecord returns the record that b begins with and its length; 0 if there is none or its checksum is wrong, -1
// if it says that it is longer than the file. Badger would ask for that much memory before it looks.
func parseWALRecord(b []byte) (walRecord, int) {
	if len(b) < 2 {
		return walRecord{}, 0
	}
	at := 2
	var lens [3]uint64 // key, value, expiry
	for i := range lens {
		v, n := binary.Uvarint(b[at:])
		if n <= 0 {
			return walRecord{}, 0
		}
		lens[i], at = v, at+n
	}
	klen, vlen := uint64(uint32(lens[0])), uint64(uint32(lens[1]))
	switch {
	case klen == 0 && vlen == 0:
		return walRecord{}, 0 // the zeros behind the end
	case klen > maxWALKey:
		return walRecord{}, 0
	case klen+vlen+crc32.Size > uint64(len(b)-at):
		return walRecord{}, -1
	}
	end := at + int(klen+vlen)
	if crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return walRecord{}, 0
	}
	return walRecord{meta: b[0], key: b[at : at+int(klen)]}, end + crc32.Size
}

// behind is how many bytes follow what is good: an unfinished transaction, or what a damaged record hides.
func (w wal) behind() int { return max(0, len(w.data)-w.good) }

// note says what is odd about w, "" if nothing is.
func (w wal) note() string {
	switch {
	case w.size == 0:
		return w.name + " is empty"
	case w.short:
		return fmt.Sprintf("%s has only %d bytes", w.name, w.size)
	case w.header && w.behind() == 0:
		return w.name + " has a damaged header"
	case w.behind() > 0 && w.last == 0:
		return fmt.Sprintf("%s cannot be read from byte %d on, %d bytes follow", w.name, w.good, w.behind())
	case w.behind() > 0:
		return fmt.Sprintf("%s reads well up to byte %d (event %d), %d bytes follow that do not", w.name, w.good, w.last, w.behind())
	}
	return ""
}

// copyTo writes the WAL to path, mended, and without the zeros at its end, which then take no room.
func (w wal) copyTo(path string) error {
	if w.size == 0 {
		return nil
	}
	if err := os.WriteFile(path, w.data, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(path, w.size); err != nil {
		return err
	}
	return w.mend(path)
}

// mend takes out of the file what would keep Badger from reading the good part: a header that says it is encrypted, and a
// record for which Badger would ask as much memory as it claims before it looks. Badger cuts the file at that record
// anyway.
func (w wal) mend(path string) error {
	if w.wild {
		if err := os.Truncate(path, int64(w.good)); err != nil {
			return err
		}
	}
	if !w.header {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, walKey), 0)
	return errors.Join(err, f.Sync(), f.Close())
}
