//go:build !windows && (!unix || solaris || aix)

package badgerlog

import "os"

// lockFile does nothing here: Badger's own lock is what there is.
func lockFile(*os.File) error { return nil }

func syncDir(string) error { return nil }
