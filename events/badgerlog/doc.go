// Package badgerlog keeps the event log in a Badger database.
//
// It fails stopped: what it cannot say for sure is an error. Badger by itself does not keep a log whole. It cuts a
// write-ahead log at the first record that it cannot read, deletes tables that a shortened MANIFEST does not name, and
// starts anew without a MANIFEST, all of it without an error. So Badger is let into a store only after this package has
// made sure that nothing is lost by it, and a store that is refused is left as it was found ([DamageError]).
//
//	b, err := badgerlog.Open(dir)
//	log, err := events.Open(ctx, b, events.Options{})
//
// # Defences
//
// Head: the file <dir>.head, outside of Badger's folder, holds the position and the hash of the last entry. It is written
// after each commit and synced on Close: after a power loss it may be older than the log, never newer. A log that does not
// reach its head, or has another entry there, is not opened, and a log with entries and no head only with
// [Options].AcceptEnd. Its lock is that of the store ([ErrInUse]).
//
// Preflight: before Badger sees the folder, the MANIFEST is replayed, each table that it names has to be there with every
// checksum in it right, and the WALs are read so that an error can say where they break off.
//
// Rehearsal: a folder that is not exactly as the last clean Close left it (<dir>.clean says how that was) is first opened
// as a copy, in <dir>.rehearsal: hard links of the tables and copies of the rest. Only if the sequence in the copy is dense,
// each entry is in the origin index, and the head is reached, the store itself is opened.
//
// Room: free space is looked at before Open and before each batch, and below a reserve the answer is events.ErrNoSpace.
// Badger writes through mapped files, where a full device ends the process.
//
// Commit errors: the database is closed, opened again as above and asked for the batch. It is there (no error), none of it
// is (events.ErrNotWritten), or the backend stops (events.ErrUnknownOutcome).
//
// Reads check that no position is missing, at the end neither. What Badger only logs as an error makes the backend refuse
// appends until it is opened again. The value log must be empty, because its read and sync errors are only logged. The
// folder is synced when a file has come into it. Network file systems are refused ([ErrNetworkFS]).
//
// # Form
//
// Keys are binary and of fixed width: 'e' and the position in 8 bytes, big-endian, hold an entry; 'o' and an origin key
// hold the position of the event that it names. The files beside dir belong to the store: copy them together, and only
// while it is closed; [Rename] moves them.
//
// A Backend is safe for concurrent use by one process. Commits are synchronous. Opening takes time in proportion to the
// tables, which are read once; after a crash all keys are read, too.
//
// # Bugs
//
// BUG(power loss on Windows and macOS): Badger syncs mapped files, which on Windows does nothing and on macOS does not
// empty the drive's cache. There a commit survives a crash of the process but perhaps not a loss of power. If the head
// file survives, the next Open says what is missing.
//
// BUG(power loss): the head file is not synced with each commit. Damage to the newest WAL in the same power loss that
// also loses the newest writes of the head can go unnoticed, for the events between the two.
//
// BUG(space): free space is looked at, not reserved. Another process that fills the device within one batch still ends
// this one; what was acknowledged survives that.
//
// BUG(memory): damage that comes to a table while the store is open is noticed when the event is read, by its hash or as a
// gap, and a compaction in between can make it final. Damage to the origin index in that time is not noticed.
//
// BUG(replacement): whoever replaces folder and head file by an older copy of both rewinds the log unnoticed. Checkpoints
// kept elsewhere are against that.
package badgerlog
