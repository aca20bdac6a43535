package badgerlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dalkkak/dkgraph/events"
)

// ErrInUse: another process, or another Backend of this one, has the store open.
var ErrInUse = errors.New("the store is in use by another process")

// ErrNetworkFS: the store lies on a network file system, where neither locks nor mapped files can be relied on; see
// Options.AllowNetworkFS.
var ErrNetworkFS = errors.New("network file system")

// A DamageError says what is wrong with the files of a store. It wraps events.ErrCorrupt. An Open that returns one has
// not let Badger touch the store: its files are as they were found.
type DamageError struct {
	Dir     string
	Problem string   // what does not hold, with the positions of the events concerned
	Notes   []string // what was seen in the files, each beginning with a file's name
	Hint    string   // what to do next, "" if there is nothing but a restore
}

func (e *DamageError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s is damaged: %s", e.Dir, e.Problem)
	for _, n := range e.Notes {
		s.WriteString("; " + n)
	}
	hint := e.Hint
	if hint == "" {
		hint = "nothing was changed; restore the store from a backup or an export"
	}
	return s.String() + "\nhint: " + hint
}

// Unwrap makes a DamageError an events.ErrCorrupt.
func (e *DamageError) Unwrap() error { return events.ErrCorrupt }

// A span is a run of positions.
type span struct{ from, to uint64 }

func (s span) String() string {
	if s.from == s.to {
		return fmt.Sprintf("event %d", s.from)
	}
	return fmt.Sprintf("events %d to %d", s.from, s.to)
}
