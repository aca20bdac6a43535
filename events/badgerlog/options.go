package badgerlog

import (
	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Options of OpenWith. The zero value is right unless an error of Open said otherwise.
type Options struct {
	// AcceptEnd opens a log that is whole from its first event to its last although its head file is missing or says
	// that the log was longer or another. What was acknowledged and is missing is lost with that; the files as they
	// were found are kept beside the store in <dir>.quarantine.
	AcceptEnd bool
	// AllowNetworkFS opens a store on a network file system. Whether what was acknowledged survives a crash is then
	// that file system's affair.
	AllowNetworkFS bool
}

const (
	// valueThreshold is Badger's maximum: a value below it never reaches the value log. events.MaxEventBytes and the
	// hash in front of a line lie under it.
	valueThreshold = 1 << 20
	// memTable may grow, but not shrink: Badger ends the process when a WAL is over what its memory table holds.
	memTable = 8 << 20
	// magic keeps a binary that knows another layout from opening this one.
	magic = 0x6b1
)

// tuning is what tests change.
type tuning struct {
	memTable       int64
	valueThreshold int64
	commit         func(*badger.Txn) error
	free           func(path string) (uint64, error)
	badger         func(badger.Options) badger.Options
}

func defaultTuning() tuning {
	return tuning{
		memTable:       memTable,
		valueThreshold: valueThreshold,
		commit:         (*badger.Txn).Commit,
		free:           freeBytes,
		badger:         func(o badger.Options) badger.Options { return o },
	}
}

// reserve is how much room is left for Badger: the WALs, the tables they become and the compactions that follow. Badger
// writes through mapped files, where a full device ends the process instead of returning an error.
func (t tuning) reserve() uint64 { return 16 * uint64(t.memTable) }

// badgerOptions are chosen for a log that must not lose or alter an event. The blocks of a table are checked in the
// preflight and not by Badger: with OnBlockRead one flipped bit makes an iterator skip thousands of events without an
// error, OnTableAndBlockRead ends the process, and OnTableRead ends it when a length is hit.
func badgerOptions(dir string, t tuning) badger.Options {
	return t.badger(badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithValueThreshold(t.valueThreshold).
		WithMemTableSize(t.memTable).
		WithNumMemtables(2).
		WithNumLevelZeroTables(4).
		WithNumLevelZeroTablesStall(8).
		WithNumCompactors(2).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(0).
		WithCompression(options.Snappy).
		WithValueLogFileSize(min(t.memTable, 16<<20)).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithExternalMagic(magic).
		WithChecksumVerificationMode(options.NoVerification))
}
