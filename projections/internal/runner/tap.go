package runner

import (
	"os"
	"sync/atomic"
	"time"
)

// A tap passes an output on and lets the capture see it. It goes on reading when nobody takes the output any more: a
// check must run to its end, also when what reads it has seen enough.
type tap struct {
	from *os.File // owned
	to   *os.File // owned when own is set
	own  bool
	see  *os.File // not owned; its reader outlives the tap

	wait  time.Duration // how long to wait for more when the command has ended
	ended atomic.Bool
}

func (t *tap) copy() {
	defer t.from.Close()
	passOn := true
	buf := make([]byte, 32<<10)
	for {
		if t.ended.Load() {
			t.limit()
		}
		n, err := t.from.Read(buf)
		if n > 0 {
			_, _ = t.see.Write(buf[:n])
		}
		if n > 0 && passOn {
			if _, werr := t.to.Write(buf[:n]); werr != nil {
				passOn = false
				t.closeTo()
			}
		}
		if err != nil {
			t.closeTo()
			return
		}
	}
}

// end tells the tap that the command has ended. What is in the pipe still comes; but a process that escaped may hold
// the other end for ever, so silence is then taken for the end.
func (t *tap) end() {
	t.ended.Store(true)
	t.limit()
}

func (t *tap) limit() { _ = t.from.SetReadDeadline(time.Now().Add(t.wait)) }

func (t *tap) closeTo() {
	if t.own {
		_ = t.to.Close()
	}
}
