package transcript

import (
	"bytes"
	"encoding/hex"
	"time"

	"github.com/dalkkak/dkgraph/events"
)

// An adapter knows the records of one agent. It may keep what earlier records said, so there is one for each reader.
type adapter interface {
	// name is the agent's.
	name() string
	// knows reports whether rec is surely one of the agent's records.
	knows(rec members) bool
	// entry reads one record. It looks for texts only when the line can hold a marker.
	entry(rec members, texts bool) entry
}

// adapters returns a new adapter for each agent.
func adapters() []adapter { return []adapter{claude{}} }

// An entry is what a record says, whoever wrote it.
type entry struct {
	version string
	session string
	turn    string // the agent's key of the message, the same in every copy of it; "" when it has none
	record  string // the agent's id of the line
	cwd     string // "" when the record states none
	at      time.Time
	texts   []passage
}

// A passage is one text of a record.
type passage struct {
	block  int // content block within the record
	text   string
	reason string // why a marker in it does not count; "" in the assistant's own words
}

// maxMembers is many times what any agent writes; a record with more is not believed.
const maxMembers = 256

// members are those of a JSON object, keys decoded, values raw.
type members []member

type member struct {
	key   string
	value []byte
}

// readMembers reads the object that b is. It returns where the grammar breaks if b is not one JSON value.
func readMembers(b []byte) (rec members, end int, ok bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		end, ok = skipValue(b, i, lineLevels)
	} else {
		end, ok = skipObject(b, i, lineLevels, func(k, v []byte) {
			if key, known := unquote(k); known && len(rec) <= maxMembers {
				rec = append(rec, member{key, v})
			}
		})
	}
	if !ok {
		return nil, end, false
	}
	if end = skipSpace(b, end); end != len(b) {
		return nil, end, false
	}
	if len(rec) > maxMembers {
		rec = nil
	}
	return rec, end, true
}

// get returns the value of key, the last one if there are several, as all readers of JSON have it.
func (m members) get(key string) []byte {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].key == key {
			return m[i].value
		}
	}
	return nil
}

// str returns the string that key has, "" if it has something else.
func (m members) str(key string) string {
	s, _ := unquote(m.get(key))
	return s
}

// flag reports whether key has anything but false, null or nothing: a flag of a wrong type is taken as set, because
// every flag we ask for says that a text is not the assistant's.
func (m members) flag(key string) bool {
	v := string(m.get(key))
	return v != "" && v != "false" && v != "null"
}

func (m members) has(keys ...string) bool {
	for _, k := range keys {
		if m.get(k) != nil {
			return true
		}
	}
	return false
}

// label bounds an id. A longer one stays distinct, but not legible.
func label(s string) string {
	if len(s) <= events.MaxLabelBytes {
		return s
	}
	return "sha256:" + events.Sum([]byte(s)).String()
}

// maxPathBytes is what Linux takes as a path. A longer folder is not one: it is unknown.
const maxPathBytes = 4096

func folder(s string) string {
	if len(s) > maxPathBytes {
		return ""
	}
	return s
}

// clock reads a timestamp; zero if it is none that an event can hold.
func clock(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// mayHoldMarker reports whether a line of JSON can hold something that looks like a tag, in any case, or with letters
// that are written as escapes. It may be wrong about a line without one, never about a line with one, except for tags
// with invisible characters within "dk-", which are no markers.
func mayHoldMarker(b []byte) bool {
	for _, s := range [...]string{"dk-", "DK-", "Dk-", "dK-"} {
		if bytes.Contains(b, []byte(s)) {
			return true
		}
	}
	for {
		i := bytes.Index(b, []byte(`\u00`))
		if i < 0 || len(b) < i+6 {
			return false
		}
		var c [1]byte
		if _, err := hex.Decode(c[:], b[i+4:i+6]); err == nil && bytes.IndexByte([]byte("dDkK-"), c[0]) >= 0 {
			return true
		}
		b = b[i+4:]
	}
}
