package transcript

import "bytes"

// A region is a stretch of Markdown that is read in one way.
type region struct {
	kind       regionKind
	start, end int
	quoted     bool // in a block quote
}

type regionKind int

const (
	regionText    regionKind = iota // a paragraph, heading or the like, with inline markup
	regionCode                      // fenced or indented
	regionComment                   // an HTML comment over several lines
)

// eachRegion cuts text into its regions as CommonMark has them, in order. Blank lines and rules belong to none.
//
// Of HTML blocks it knows comments only: in the others it sees Markdown where CommonMark sees none, which can hide a
// marker after an unclosed fence, and cannot uncover one.
func eachRegion(text []byte, yield func(region)) {
	p := blocks{text: text, yield: yield}
	for i := 0; i < len(text); {
		end := len(text)
		if n := bytes.IndexAny(text[i:], "\r\n"); n >= 0 {
			end = i + n
		}
		p.line(i, end)
		if i = end + 1; end+1 < len(text) && text[end] == '\r' && text[end+1] == '\n' {
			i++
		}
	}
	p.close()
}

// maxContainers bounds the nesting of quotes and lists. What is deeper is taken as code.
const maxContainers = 32

// blocks is the state of CommonMark's block structure between two lines.
type blocks struct {
	text  []byte
	yield func(region)

	open []container
	leaf leaf

	// of a paragraph
	start, end int

	// of a fence
	fence byte
	width int
}

// A container is a block quote or a list item.
type container struct {
	quote  bool
	indent int  // of an item: columns to its content
	bare   bool // an item without content so far
}

type leaf int

const (
	leafNone leaf = iota
	leafParagraph
	leafFence
	leafComment
)

// line takes the line text[start:end].
func (p *blocks) line(start, end int) {
	c := cursor{text: p.text[:end], pos: start}
	matched := p.match(&c)
	if p.leaf == leafFence || p.leaf == leafComment {
		if matched == len(p.open) {
			p.within(&c, start, end)
			return
		}
		p.leaf = leafNone
	}
	p.begin(&c, matched, start, end)
}

// match consumes the marks of the containers that the line goes on, and returns how many they are.
func (p *blocks) match(c *cursor) int {
	for i := range p.open {
		o := &p.open[i]
		indent, at := c.indent()
		blank := at == len(c.text)
		switch {
		case o.quote && (indent > 3 || blank || c.text[at] != '>'):
			return i
		case o.quote:
			c.quoteMark(at)
		case blank && o.bare:
			return i
		case blank:
		case indent < o.indent:
			return i
		default:
			c.skip(o.indent)
		}
		o.bare = false
	}
	return len(p.open)
}

// within takes a line of an open fence or comment.
func (p *blocks) within(c *cursor, start, end int) {
	if p.leaf == leafFence {
		indent, at := c.indent()
		n := runLength(c.text, at, p.fence)
		if indent <= 3 && n >= p.width && isBlank(c.text[at+n:]) {
			p.leaf = leafNone
		}
		p.emit(regionCode, start, end)
		return
	}
	i := bytes.Index(c.text[start:], []byte("-->"))
	if i < 0 {
		p.emit(regionComment, start, end)
		return
	}
	p.leaf = leafNone
	p.emit(regionComment, start, start+i+3)
	p.emit(regionText, start+i+3, end)
}

// begin opens the blocks that start on the line, or goes on with a paragraph.
func (p *blocks) begin(c *cursor, matched, start, end int) {
	for {
		indent, at := c.indent()
		rest := c.text[at:]
		going := p.leaf == leafParagraph && matched == len(p.open)
		switch {
		case len(rest) == 0:
			p.cut(matched)
			return
		case indent >= 4 && p.leaf == leafParagraph:
			p.end = end
			return
		case indent >= 4 || len(p.open) >= maxContainers && opensContainer(rest, going):
			p.cut(matched)
			p.emit(regionCode, start, end)
			return
		case rest[0] == '>':
			p.cut(matched)
			c.quoteMark(at)
			p.open = append(p.open, container{quote: true})
			matched++
			continue
		case p.beginLeaf(rest, going, matched, start, end):
			return
		}
		if width := listMark(rest, going); width > 0 {
			p.cut(matched)
			p.open = append(p.open, c.item(indent, at, width))
			matched++
			continue
		}
		p.paragraph(matched, start, end)
		return
	}
}

// beginLeaf takes the line if rest starts a block that holds no others.
func (p *blocks) beginLeaf(rest []byte, going bool, matched, start, end int) bool {
	switch {
	case fenceMark(rest) > 0:
		p.cut(matched)
		p.leaf, p.fence, p.width = leafFence, rest[0], fenceMark(rest)
		p.emit(regionCode, start, end)
	case bytes.HasPrefix(rest, []byte("<!--")):
		p.cut(matched)
		kind := regionText // the comment ends on this line, and inline markup will find it
		if !bytes.Contains(rest[2:], []byte("-->")) {
			kind, p.leaf = regionComment, leafComment
		}
		p.emit(kind, start, end)
	case isHeading(rest):
		p.cut(matched)
		p.emit(regionText, start, end)
	case going && isUnderline(rest):
		p.close()
	case isRule(rest):
		p.cut(matched)
	default:
		return false
	}
	return true
}

// paragraph starts a paragraph or goes on with one. A line that does not carry the marks of the open containers goes on
// all the same ("lazy continuation").
func (p *blocks) paragraph(matched, start, end int) {
	if p.leaf != leafParagraph {
		p.cut(matched)
		p.leaf, p.start = leafParagraph, start
	}
	p.end = end
}

// cut ends the leaf and all but the first n containers.
func (p *blocks) cut(n int) {
	p.close()
	p.open = p.open[:n]
}

// close ends the leaf.
func (p *blocks) close() {
	if p.leaf == leafParagraph {
		p.emit(regionText, p.start, p.end)
	}
	p.leaf = leafNone
}

func (p *blocks) emit(kind regionKind, start, end int) {
	quoted := false
	for _, o := range p.open {
		quoted = quoted || o.quote
	}
	p.yield(region{kind: kind, start: start, end: end, quoted: quoted})
}

// A cursor walks over one line and knows its columns: a tab reaches to the next multiple of four.
type cursor struct {
	text     []byte // up to the end of the line
	pos, col int    // of a tab that is taken in part, pos is the tab's
}

// indent returns the columns of white space ahead, and the index after it.
func (c *cursor) indent() (columns, at int) {
	col := c.col
	for at = c.pos; at < len(c.text); at++ {
		switch c.text[at] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col - c.col, at
		}
	}
	return col - c.col, at
}

// skip takes at most n columns of white space.
func (c *cursor) skip(n int) {
	for n > 0 && c.pos < len(c.text) {
		width := 1
		switch c.text[c.pos] {
		case ' ':
		case '\t':
			width = 4 - c.col%4
		default:
			return
		}
		if width > n {
			c.col += n
			return
		}
		c.pos++
		c.col += width
		n -= width
	}
}

// to moves to at, which no tab but white space that indent has measured comes before, and then n bytes on.
func (c *cursor) to(at, n int) {
	indent, _ := c.indent()
	c.col += indent + n
	c.pos = at + n
}

// quoteMark takes the > at at and one column of white space.
func (c *cursor) quoteMark(at int) {
	c.to(at, 1)
	c.skip(1)
}

// item takes a list mark of width bytes and the white space that belongs to it.
func (c *cursor) item(indent, at, width int) container {
	c.to(at, width)
	space, after := c.indent()
	switch {
	case after == len(c.text):
		return container{indent: indent + width + 1, bare: true}
	case space > 4:
		space = 1
	}
	c.skip(space)
	return container{indent: indent + width + space}
}

func runLength(b []byte, i int, c byte) int {
	n := 0
	for i+n < len(b) && b[i+n] == c {
		n++
	}
	return n
}

func isBlank(b []byte) bool { return len(bytes.Trim(b, " \t")) == 0 }

// fenceMark returns the length of the fence that b opens, 0 if it opens none.
func fenceMark(b []byte) int {
	if b[0] != '`' && b[0] != '~' {
		return 0
	}
	n := runLength(b, 0, b[0])
	if n < 3 || b[0] == '`' && bytes.IndexByte(b[n:], '`') >= 0 {
		return 0
	}
	return n
}

func isHeading(b []byte) bool {
	n := runLength(b, 0, '#')
	return 1 <= n && n <= 6 && (n == len(b) || b[n] == ' ' || b[n] == '\t')
}

// isUnderline reports whether b makes a heading of the paragraph above.
func isUnderline(b []byte) bool {
	return (b[0] == '=' || b[0] == '-') && isBlank(b[runLength(b, 0, b[0]):])
}

// isRule reports whether b is a thematic break.
func isRule(b []byte) bool {
	n := 0
	for _, c := range b {
		switch {
		case c == ' ' || c == '\t':
		case c == b[0] && (c == '*' || c == '-' || c == '_'):
			n++
		default:
			return false
		}
	}
	return n >= 3
}

// listMark returns the bytes of the bullet or number that b starts with, 0 if there is none. In the middle of a
// paragraph an item must have content, and a list must start with 1.
func listMark(b []byte, going bool) int {
	n := 0
	if bytes.IndexByte([]byte("-+*"), b[0]) < 0 {
		for n < len(b) && n < 10 && '0' <= b[n] && b[n] <= '9' {
			n++
		}
		if n == 0 || n > 9 || n == len(b) || b[n] != '.' && b[n] != ')' || going && string(b[:n]) != "1" {
			return 0
		}
	}
	n++
	if n < len(b) && b[n] != ' ' && b[n] != '\t' || going && isBlank(b[n:]) {
		return 0
	}
	return n
}

func opensContainer(b []byte, going bool) bool { return b[0] == '>' || listMark(b, going) > 0 }
