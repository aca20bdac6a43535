//go:build !linux

package badgerlog

import "os"

func dataSync(f *os.File) error { return f.Sync() }
