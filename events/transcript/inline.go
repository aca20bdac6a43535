package transcript

import "bytes"

// inline goes through a paragraph, where code, comments and escapes hide tags.
func (s *scanner) inline(start, end int) {
	start = max(start, s.done) // a marker that reached over blank lines
	if s.seek(start); start >= end || !s.before(end) {
		return
	}
	p := paragraph{scanner: s, end: end, last: map[int]int{}}
	p.countTicks(start)
	for i := start; i < end && s.before(end); {
		n := bytes.IndexAny(s.text[i:end], "\\`<")
		if n < 0 {
			return
		}
		i += n
		switch s.text[i] {
		case '\\':
			i = p.escape(i)
		case '`':
			i = p.code(i)
		case '<':
			i = p.angle(i)
		}
	}
}

// A paragraph is what is known of one while its inline markup is read.
type paragraph struct {
	*scanner
	end       int
	last      map[int]int // of each length, where the last run of backticks starts
	noComment bool        // no comment ends in the rest
}

// countTicks notes the runs of backticks, so that one that is never closed is known at once and need not be searched
// for. Those within a whole marker belong to its JSON.
func (p *paragraph) countTicks(start int) {
	for i := start; i < p.end; {
		n := bytes.IndexAny(p.text[i:p.end], "`<")
		if n < 0 {
			return
		}
		if i += n; p.text[i] == '<' {
			i = p.overMarker(i)
			continue
		}
		run := runLength(p.text[:p.end], i, '`')
		p.last[run] = i
		i += run
	}
}

// overMarker returns the end of the whole marker at i, or the next index if there is none.
func (p *paragraph) overMarker(i int) int {
	if t, ok := tagAt(p.text, i); ok {
		return max(p.wholeEnd(t), i+1)
	}
	return i + 1
}

// escape takes the backslash at i.
func (p *paragraph) escape(i int) int {
	if i++; i >= p.end {
		return i
	}
	if p.text[i] == '<' {
		return p.tagHere(i, reasonEscaped)
	}
	if bytes.IndexByte([]byte("\\`"), p.text[i]) >= 0 {
		return i + 1
	}
	return i
}

// code takes the run of backticks at i, and the code after it if another run of that length ends it.
func (p *paragraph) code(i int) int {
	run := runLength(p.text[:p.end], i, '`')
	after := i + run
	if last, ok := p.last[run]; !ok || last <= i {
		return after
	}
	for j := after; j < p.end; {
		n := bytes.IndexAny(p.text[j:p.end], "`<")
		if n < 0 {
			break
		}
		if j += n; p.text[j] == '<' {
			j = p.overMarker(j)
			continue
		}
		if n = runLength(p.text[:p.end], j, '`'); n == run {
			p.all(i, j, reasonInlineCode)
			return j + n
		}
		j += n
	}
	return after
}

// angle takes the < at i, which may start a comment or a tag.
func (p *paragraph) angle(i int) int {
	if !p.noComment && bytes.HasPrefix(p.text[i:p.end], []byte("<!--")) {
		n := bytes.Index(p.text[i+2:p.end], []byte("-->"))
		if n >= 0 {
			end := i + 2 + n + 3
			p.all(i, end, reasonComment)
			return end
		}
		p.noComment = true
	}
	return p.tagHere(i, "")
}

// tagHere takes the tag at i, if there is one.
func (p *paragraph) tagHere(i int, reason string) int {
	p.seek(i)
	if !p.more || p.tag.start != i {
		return i + 1
	}
	end := p.tag.end
	p.take(reason)
	return max(end, p.done)
}
