package events

import (
	"errors"
	"strconv"
)

// Errors of the log. Those that concern one event are wrapped in an [EventError] that names it.
var (
	// ErrConflict: the log's head is not the expected one; nothing was written.
	ErrConflict = errors.New("the log has moved on")
	// ErrOriginReuse: an event with the same origin key and another payload is already in the log.
	ErrOriginReuse = errors.New("same origin key, other content")
	// ErrUnsealed: the event's kind needs a seal, and it has none or one that does not verify.
	ErrUnsealed = errors.New("unsealed")
	// ErrRetargeted: a sealed event names a claim that is not the one its seal covers, or not a claim of this log.
	ErrRetargeted = errors.New("sealed for another claim")
	// ErrGap: a sequence number is missing.
	ErrGap = errors.New("gap in the sequence")
	// ErrCorrupt: an event's bytes do not have the hash they were stored with, or are not an event.
	ErrCorrupt = errors.New("corrupt event")
	// ErrChain: an event's prev is not the hash of the event before it.
	ErrChain = errors.New("broken chain")
	// ErrUnknownOutcome: the backend failed in the middle of a commit; whether the batch was kept is not known. Open the
	// log again and append the same drafts: what was kept is found by its origin key.
	ErrUnknownOutcome = errors.New("unknown outcome of a commit")
	// ErrTooLarge: an event is over MaxEventBytes, or a batch is over what the backend takes at once; nothing was written.
	ErrTooLarge = errors.New("too large")
	// ErrNoSpace: the device has too little room left; nothing was written.
	ErrNoSpace = errors.New("no space left for the log")
	// ErrNotWritten: the backend could not write the batch and made sure that nothing of it was kept.
	ErrNotWritten = errors.New("nothing was written")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrNotFound: there is no such event.
	ErrNotFound = errors.New("no such event")
	// ErrEmptyLog: the backend holds no log yet; use Create.
	ErrEmptyLog = errors.New("the log is empty")
	// ErrExists: the backend already holds a log.
	ErrExists = errors.New("there is a log already")
	// ErrFormat: the log was written in a form this version does not know.
	ErrFormat = errors.New("unknown log format")
	// ErrRewound: the log is shorter than a checkpoint says it was.
	ErrRewound = errors.New("the log was cut back")
	// ErrForked: the log is not the one a checkpoint was made of, or was rewritten since.
	ErrForked = errors.New("the log was rewritten")
	// ErrKind: a payload was asked for as another kind than it is.
	ErrKind = errors.New("other kind of event")
)

// Errors of the draft constructors.
var (
	// ErrShape: a required field is missing or a value is not one of those allowed.
	ErrShape = errors.New("wrong shape")
	// ErrStoreOnly: an agent wants to write what only the store writes.
	ErrStoreOnly = errors.New("only the store writes this")
	// ErrNoEvidence: a node says that it is confirmed and brings no evidence object.
	ErrNoEvidence = errors.New("confirmed without evidence")
	// ErrOversize: a field is over its limit.
	ErrOversize = errors.New("over the limit")
)

// An EventError names the event that an error is about.
type EventError struct {
	Seq  uint64
	Kind Kind // "" when the event could not be read
	Err  error
}

func (e *EventError) Error() string {
	if e.Kind == "" {
		return "event " + utoa(e.Seq) + ": " + e.Err.Error()
	}
	return "event " + utoa(e.Seq) + " (" + string(e.Kind) + "): " + e.Err.Error()
}

func (e *EventError) Unwrap() error { return e.Err }

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }
