package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dalkkak/dkgraph/events"
)

// A capture reads the outputs of one run to their end, each in a goroutine of its own.
type capture struct {
	limit int64        // bytes, of all outputs together
	over  func()       // called once, when there are more
	total atomic.Int64 // bytes read

	streams []*stream // stdout, stderr, and checked where there is one
	readers sync.WaitGroup

	mu     sync.Mutex // guards below
	report *analysis
}

// A stream is one output while it is read. It belongs to its reading goroutine, and to others once that has ended.
type stream struct {
	from    *os.File
	hash    hash.Hash
	keep    keeper
	lines   lineReader
	finders []*finder
	analyse bool // its lines are evidence of what was checked
	needs   bool // there is somebody to look at lines at all
	scratch []byte
}

func newStream(from *os.File, name string, expects []Expect, analyse bool) *stream {
	return &stream{
		from: from, hash: sha256.New(), finders: findersFor(name, expects),
		analyse: analyse, needs: analyse || len(expects) > 0,
	}
}

// open makes the outputs of a run and starts to read them. Where what the checks write is filtered, that is evidence
// and not what the filter leaves of it.
func (c *capture) open(expects []Expect, filtered bool) (out outputs, err error) {
	add := func(name string, expects []Expect, analyse bool) *os.File {
		if err != nil {
			return nil
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return nil
		}
		s := newStream(r, name, expects, analyse)
		c.streams = append(c.streams, s)
		c.read(s)
		return w
	}
	out.stdout = add("stdout", expects, !filtered)
	out.stderr = add("stderr", expects, true)
	if filtered {
		out.checked = add("checked", nil, true)
	}
	if err != nil {
		out.close()
		c.readers.Wait()
	}
	return out, err
}

// read starts to read a stream.
func (c *capture) read(s *stream) {
	c.readers.Go(func() {
		defer s.from.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := s.from.Read(buf)
			if n > 0 {
				c.take(s, buf[:n])
			}
			if err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				s.lines.end(c.lineOf(s))
				return // the end, or the deadline that finish set
			}
		}
	})
}

func (c *capture) take(s *stream, p []byte) {
	if before := c.total.Add(int64(len(p))) - int64(len(p)); before <= c.limit && before+int64(len(p)) > c.limit {
		c.over()
	}
	s.hash.Write(p)
	s.keep.take(p)
	for _, f := range s.finders {
		if f != nil {
			f.chunk(p)
		}
	}
	if !s.needs {
		s.lines.count += int64(bytes.Count(p, []byte{'\n'}))
		s.lines.part = append(s.lines.part[:0], p[len(p)-1:]...)
		if p[len(p)-1] == '\n' {
			s.lines.part = s.lines.part[:0]
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.lines.take(p, c.lineOf(s))
}

// lineOf is what happens to each line of a stream, with mu held.
func (c *capture) lineOf(s *stream) func(line []byte, more bool) {
	return func(line []byte, more bool) {
		clean := plainLine(s.scratch, line)
		if len(clean) != len(line) {
			s.scratch = clean
		}
		for _, f := range s.finders {
			if f != nil {
				f.text(line, clean)
			}
		}
		if s.analyse && !more {
			c.report.line(lastOverwrite(clean))
		}
	}
}

// lastOverwrite is what a terminal would show of a line with carriage returns in it, or near enough.
func lastOverwrite(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// finish waits for the readers. An output that a process which escaped still holds open is given up after wait; finish
// then returns false.
func (c *capture) finish(wait time.Duration) bool {
	deadline := time.Now().Add(wait)
	for _, s := range c.streams {
		// The reader closes its file as it ends, and then there is no deadline to set.
		_ = s.from.SetReadDeadline(deadline)
	}
	c.readers.Wait()
	return time.Now().Before(deadline)
}

// record is the evidence of a stream that was read to its end.
func (s *stream) record(r *redactor) events.Stream {
	text, truncated := s.keep.text(r)
	return events.Stream{
		Bytes:     s.keep.total,
		Lines:     s.lines.count,
		SHA256:    hex.EncodeToString(s.hash.Sum(nil)),
		Text:      text,
		Truncated: truncated,
	}
}
