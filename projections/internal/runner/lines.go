package runner

import "bytes"

// A lineReader cuts an output into lines. A line longer than maxLine is handed over in pieces that overlap, so that a
// pattern of up to lineOverlap bytes is never missed at a seam.
type lineReader struct {
	part  []byte // a line that is not whole yet
	cont  bool   // part goes on a line of which a piece was handed over already
	count int64  // line feeds seen
}

const (
	maxLine     = 64 << 10
	lineOverlap = 4 << 10
)

// take hands each line that p completes to f, without its line end. more is true for the second and later pieces of
// one line. The bytes are only valid during the call.
func (l *lineReader) take(p []byte, f func(line []byte, more bool)) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.count++
		line := p[:i]
		if len(l.part) > 0 {
			l.grow(line, f)
			line = l.part
		}
		l.pieces(line, f)
		l.part, l.cont = l.part[:0], false
		p = p[i+1:]
	}
	l.grow(p, f)
}

// end hands over what is left when the output ends without a line end.
func (l *lineReader) end(f func(line []byte, more bool)) {
	if len(l.part) > 0 {
		l.count++
		l.pieces(l.part, f)
		l.part = nil
	}
}

// grow adds to the line that is not whole yet, and hands over a piece each time it is full.
func (l *lineReader) grow(p []byte, f func(line []byte, more bool)) {
	for len(l.part)+len(p) > maxLine {
		n := maxLine - len(l.part)
		l.part = append(l.part, p[:n]...)
		f(l.part, l.cont)
		l.part = append(l.part[:0], l.part[maxLine-lineOverlap:]...)
		l.cont = true
		p = p[n:]
	}
	l.part = append(l.part, p...)
}

// pieces hands over one whole line, or the rest of one.
func (l *lineReader) pieces(line []byte, f func(line []byte, more bool)) {
	more := l.cont
	for len(line) > maxLine {
		f(line[:maxLine], more)
		line = line[maxLine-lineOverlap:]
		more = true
	}
	f(bytes.TrimSuffix(line, []byte{'\r'}), more)
}
