package badgerlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/klauspost/compress/snappy"
)

// checkTable reads an *.sst file and checks its index and every block in it. Badger can do that, too, but ends the
// process when a length is damaged rather than a value.
func checkTable(dir, name string, compression options.CompressionType) (fileSum, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return fileSum{}, err
	}
	sum := fileSum{Name: name, Size: int64(len(data)), CRC: crc32.Checksum(data, castagnoli)}
	index, err := tableIndex(data)
	if err != nil {
		return sum, err
	}
	return sum, checkBlocks(data, index, compression)
}

var (
	errFooter   = errors.New("its end is not that of a table")
	errChecksum = errors.New("wrong checksum")
)

// cutTail splits b before a big-endian length at its end and the bytes that the length counts.
func cutTail(b []byte) (rest, tail []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(b[len(b)-4:]))
	b = b[:len(b)-4]
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	at := len(b) - int(n)
	return b[:at], b[at:], true
}

// tableIndex returns the index of a table, which ends with it: index, its length, checksum, its length.
func tableIndex(data []byte) ([]byte, error) {
	rest, checksum, ok := cutTail(data)
	if !ok {
		return nil, errFooter
	}
	_, index, ok := cutTail(rest)
	if !ok || len(index) == 0 {
		return nil, errFooter
	}
	if !sumMatches(index, checksum) {
		return nil, fmt.Errorf("index: %w", errChecksum)
	}
	return index, nil
}

// sumMatches checks data against a checksum as Badger encodes it: a protobuf message in which field 1, the algorithm, is
// left out because CRC-32C is its zero value, and field 2 is the sum.
func sumMatches(data, encoded []byte) bool {
	want := uint64(0)
	if len(encoded) > 0 {
		v, n := binary.Uvarint(encoded[1:])
		if encoded[0] != 2<<3 || n != len(encoded)-1 {
			return false
		}
		want = v
	}
	return uint64(crc32.Checksum(data, castagnoli)) == want
}

func checkBlocks(data, index []byte, compression options.CompressionType) (err error) {
	defer func() {
		if r := recover(); r != nil { // the index has the right checksum and yet does not parse
			err = fmt.Errorf("index: %v", r)
		}
	}()
	ti := fb.GetRootAsTableIndex(index, 0)
	if ti.OffsetsLength() == 0 {
		return errors.New("index: no blocks")
	}
	var buf []byte
	for i := range ti.OffsetsLength() {
		var at fb.BlockOffset
		ti.Offsets(&at, i)
		from, to := uint64(at.Offset()), uint64(at.Offset())+uint64(at.Len())
		if to > uint64(len(data)) {
			return fmt.Errorf("block at byte %d: it ends behind the file", from)
		}
		block := data[from:to]
		switch compression {
		case options.None:
		case options.Snappy:
			if block, err = snappy.Decode(buf, block); err != nil {
				return fmt.Errorf("block at byte %d: %w", from, err)
			}
			buf = block[:cap(block)]
		default:
			return fmt.Errorf("compression %d is not one this package writes", compression)
		}
		if body, checksum, ok := cutTail(block); !ok || !sumMatches(body, checksum) {
			return fmt.Errorf("block at byte %d: %w", from, errChecksum)
		}
	}
	return nil
}
