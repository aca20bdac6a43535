package badgerlog

import (
	"os"
	"time"
)

// dirState is when the names in Badger's folder were last made durable.
type dirState struct {
	mtime time.Time
	sure  bool // the clock has moved on since, so that a later change shows in mtime
}

// clockGrain is more than any file system takes for two changes to be seen as one.
const clockGrain = 50 * time.Millisecond

// syncNames makes the names of new files durable. Badger syncs what is in a new WAL or table, but not its folder, and
// POSIX does not promise that a file which is synced can be found after a power loss.
func (b *Backend) syncNames() error {
	info, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	mtime := info.ModTime()
	if b.synced.sure && mtime.Equal(b.synced.mtime) {
		return nil
	}
	sure := time.Since(mtime) > clockGrain
	if err := syncDir(b.dir); err != nil {
		return err
	}
	b.synced = dirState{mtime: mtime, sure: sure}
	return nil
}
