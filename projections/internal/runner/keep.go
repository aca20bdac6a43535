package runner

import (
	"bytes"
	"fmt"
)

// What is kept of an output: all of it up to keepHead+keepTail bytes, else the two ends.
const (
	keepHead = 16 << 10
	keepTail = 48 << 10
	maxJSON  = 256 << 10 // of one kept text, encoded; an event has room for two and the rest
	lineSlop = 4 << 10   // how much of an end is given up to cut it between lines
)

// A keeper holds the ends of an output. The zero value is ready.
type keeper struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

func (k *keeper) take(p []byte) {
	k.total += int64(len(p))
	if room := keepHead - len(k.head); room > 0 {
		n := min(room, len(p))
		k.head = append(k.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > keepTail {
		p = p[len(p)-keepTail:]
	}
	if room := keepTail - len(k.tail); room > 0 {
		n := min(room, len(p))
		k.tail = append(k.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(k.tail[k.next:], p)
		k.next = (k.next + n) % keepTail
		p = p[n:]
	}
}

// ends returns the raw head and tail, and how many bytes lie between them.
func (k *keeper) ends() (head, tail []byte, dropped int64) {
	tail = append(append(make([]byte, 0, len(k.tail)), k.tail[k.next:]...), k.tail[:k.next]...)
	return k.head, tail, k.total - int64(len(k.head)) - int64(len(tail))
}

// text is what is stored: valid UTF-8, without terminal control and secrets, bounded in size also when encoded.
func (k *keeper) text(r *redactor) (text string, truncated bool) {
	head, tail, dropped := k.ends()
	if dropped == 0 {
		text = r.text(plain(string(append(head[:len(head):len(head)], tail...))))
		if short := cutTo(text, maxJSON); short == text {
			return text, false
		}
		head, tail = []byte(text), []byte(text)
	} else {
		h, t := cutAtLines(head, tail)
		dropped += int64(len(head) - len(h) + len(tail) - len(t))
		hs, ts := r.edges(plain(string(h)), plain(string(t)))
		head, tail = []byte(hs), []byte(ts)
	}
	return join(string(head), string(tail), dropped), true
}

// cutAtLines shortens both ends to whole lines where that costs little, so that no half line misleads a reader and no
// half secret escapes a redactor.
func cutAtLines(head, tail []byte) (h, t []byte) {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 && len(head)-i <= lineSlop {
		head = head[:i+1]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i <= lineSlop {
		tail = tail[i+1:]
	}
	return head, tail
}

// join puts the ends together. When they are the same text, both cut out of one, dropped is counted here.
func join(head, tail string, dropped int64) string {
	const mark = 128 // room for the line between
	h := cutTo(head, maxJSON/4-mark)
	t := cutFront(tail, maxJSON*3/4-mark)
	if dropped == 0 {
		dropped = int64(len(head) - len(h) - len(t))
	} else {
		dropped += int64(len(head) - len(h) + len(tail) - len(t))
	}
	sep := ""
	if h != "" && h[len(h)-1] != '\n' {
		sep = "\n"
	}
	return fmt.Sprintf("%s%s… %d bytes left out …\n%s", h, sep, dropped, t)
}
