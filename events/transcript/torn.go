package transcript

import "bytes"

// salvage finds the records that are still whole on a line that is not one JSON value, and returns them with the bytes
// that are lost.
//
// A record is believed where the broken one before it can be seen to end. A crash cuts a record anywhere and the next
// one follows at once, so the grammar breaks exactly there: a cut in a string leaves it open up to the first quote of
// {"…, a cut elsewhere breaks at the brace. Where the grammar goes on, what follows may just as well be a value within
// the broken record, put there by a tool or by a user, and is not taken. Each byte is looked at a fixed number of times.
func salvage(b []byte) (good [][]byte, lost int) {
	i := 0
	for i < len(b) {
		if i = skipBlank(b, i); i == len(b) {
			return good, lost
		}
		end, ok := skipValue(b, i, lineLevels)
		if ok && b[i] == '{' && startsOrEnds(b, skipBlank(b, end)) {
			if isRecord(b[i:end]) {
				good = append(good, b[i:end])
			} else {
				lost += end - i
			}
			i = end
			continue
		}
		next := spliceAt(b, i, end)
		if ok || next < 0 {
			break
		}
		lost += next - i
		i = next
	}
	if last := lastRecord(b[i:]); last != nil {
		good = append(good, last)
		return good, lost + len(b) - i - len(last)
	}
	return good, lost + len(b) - i
}

// spliceAt returns where the next record starts when the one that starts at i breaks at end; -1 if none does.
func spliceAt(b []byte, i, end int) int {
	for at := max(end-2, i+1); at <= end; at++ {
		if startsRecord(b, at) {
			return at
		}
	}
	// A truncated file that is written to again has a run of NULs between.
	if end < len(b) && b[end] == 0 {
		if at := skipNULs(b, end); startsRecord(b, at) {
			return at
		}
	}
	return -1
}

func startsRecord(b []byte, i int) bool { return bytes.HasPrefix(b[i:], []byte(`{"`)) }

func startsOrEnds(b []byte, i int) bool { return i == len(b) || startsRecord(b, i) }

func skipNULs(b []byte, i int) int {
	for i < len(b) && b[i] == 0 {
		i++
	}
	return i
}

// skipBlank skips white space and NULs.
func skipBlank(b []byte, i int) int {
	for i < len(b) {
		next := skipNULs(b, skipSpace(b, i))
		if next == i {
			break
		}
		i = next
	}
	return i
}

// lastRecord returns the record that ends a line whose beginning is of no known form, nil if there is none. Walking
// back from the last brace finds the only place where it can start: outside of strings JSON has no backslashes, so a
// quote with an even number of them before it opens or closes a string.
func lastRecord(b []byte) []byte {
	end := len(bytes.TrimRight(b, " \t\r\x00"))
	depth, inString := 0, false
	for i := end - 1; i > 0; i-- {
		switch c := b[i]; {
		case c == '"':
			if backslashes(b[:i])%2 == 0 {
				inString = !inString
			}
		case inString:
		case c == '}' || c == ']':
			depth++
		case c == '{' || c == '[':
			depth--
		}
		if depth == 0 {
			rec := b[i:end]
			if stop, ok := skipValue(rec, 0, lineLevels); !ok || stop != len(rec) || !isRecord(rec) || maybeValue(b[:i]) {
				return nil
			}
			return rec
		}
	}
	return nil
}

// maybeValue reports whether what stands before a record leaves it possible that it is a value within another.
func maybeValue(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r\x00")
	return len(before) > 0 && bytes.IndexByte([]byte(":,["), before[len(before)-1]) >= 0
}

func backslashes(b []byte) int {
	return len(b) - len(bytes.TrimRight(b, `\`))
}

// isRecord reports whether a valid JSON value looks like a line of a transcript: every agent's has a type.
func isRecord(b []byte) bool {
	rec, _, ok := readMembers(b)
	return ok && rec.str("type") != ""
}
