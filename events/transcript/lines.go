package transcript

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/dalkkak/dkgraph/events"
)

// MaxLineBytes is the longest line that is read. A longer one is skipped in bounded memory.
const MaxLineBytes = 64 << 20

// keepBytes is how much of the line buffer is kept for the next line.
const keepBytes = 1 << 20

// A line is one line of a transcript. Its data is valid until the next one is read.
type line struct {
	data   []byte // without the line end; nil when the line is too long
	offset int64  // of its first byte
	length int64  // without the line end
	taken  int64  // with the line end
	ended  bool   // has a line end
	long   bool   // over the limit

	sum    events.Hash // over the line without its line end; use hash
	summed bool
}

// hash returns the SHA-256 of the line without its line end. Most lines are never asked.
func (l *line) hash() string {
	if !l.summed {
		l.sum, l.summed = events.Sum(l.data), true
	}
	return l.sum.String()
}

// A lineReader splits at 0x0A only: a raw U+2028 within a JSON string is no line end.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte // the line, when it does not fit the reader's own buffer; never grows past max
	off int64
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next reads a line. The error is io.EOF after the last one, or that of the underlying reader; the line that was being
// read then is lost, and will be there when the transcript is read again.
func (l *lineReader) next() (line, error) {
	if cap(l.buf) > keepBytes {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	ln := line{offset: l.off}
	var long *longLine
	for {
		part, err := l.r.ReadSlice('\n')
		ln.taken += int64(len(part))
		ln.ended = err == nil
		switch {
		case long != nil:
			long.add(part)
		case len(l.buf)+len(part) > l.max+len("\r\n"):
			long = &longLine{h: sha256.New()}
			long.add(l.buf)
			long.add(part)
			l.buf = nil
		case ln.ended && len(l.buf) == 0:
			ln.data = part
		default:
			l.buf = appendBounded(l.buf, part, l.max+len("\r\n"))
			ln.data = l.buf
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line{}, err
		}
		if ln.taken == 0 {
			return line{}, io.EOF
		}
		l.off += ln.taken
		ln.finish(long, l.max)
		return ln, nil
	}
}

// finish cuts the line end off.
func (l *line) finish(long *longLine, limit int) {
	if long != nil {
		l.data, l.long, l.length = nil, true, long.length()
		l.sum, l.summed = long.sum(), true
		return
	}
	l.data = bytes.TrimSuffix(l.data, []byte("\n"))
	l.data = bytes.TrimSuffix(l.data, []byte("\r"))
	l.length = int64(len(l.data))
	if len(l.data) > limit {
		l.hash()
		l.data, l.long = nil, true
	}
}

// appendBounded is append, but never asks for more than limit bytes.
func appendBounded(buf, part []byte, limit int) []byte {
	if need := len(buf) + len(part); need > cap(buf) {
		buf = append(make([]byte, 0, min(max(2*cap(buf), need), limit)), buf...)
	}
	return append(buf, part...)
}

// A longLine counts and hashes a line that is not kept. A line end is not part of it, so the last two bytes are held
// back.
type longLine struct {
	h    hash.Hash
	n    int64
	tail []byte
}

func (l *longLine) add(part []byte) {
	if len(part) >= 2 {
		l.write(l.tail)
		l.write(part[:len(part)-2])
		l.tail = append(l.tail[:0], part[len(part)-2:]...)
		return
	}
	l.tail = append(l.tail, part...)
	if extra := len(l.tail) - 2; extra > 0 {
		l.write(l.tail[:extra])
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
}

func (l *longLine) write(b []byte) {
	l.h.Write(b)
	l.n += int64(len(b))
}

func (l *longLine) length() int64 {
	l.finish()
	return l.n
}

func (l *longLine) sum() events.Hash {
	l.finish()
	return events.Hash(l.h.Sum(nil))
}

func (l *longLine) finish() {
	rest := bytes.TrimSuffix(l.tail, []byte("\n"))
	l.write(bytes.TrimSuffix(rest, []byte("\r")))
	l.tail = nil
}
