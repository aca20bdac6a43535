package badgerlog

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// A watcher is Badger's logger. Badger only logs some of what a log must stop for: a table it leaves out, a value it
// cannot read, a flush or a compaction that fails.
type watcher struct {
	mu    sync.Mutex // guards below
	first error
}

var _ badger.Logger = (*watcher)(nil)

// fault returns the first thing Badger complained about.
func (w *watcher) fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

func (w *watcher) note(format string, args []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = fmt.Errorf("badger: %s", strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// Errorf implements badger.Logger: whatever Badger calls an error is one.
func (w *watcher) Errorf(format string, args ...any) { w.note(format, args) }

// Warningf implements badger.Logger. Of the warnings, those about the MANIFEST and about compactions count; the others
// are about the size of caches.
func (w *watcher) Warningf(format string, args ...any) {
	lower := strings.ToLower(format)
	if strings.Contains(lower, "compact") || strings.Contains(lower, "manifest") {
		w.note(format, args)
	}
}

// Infof implements badger.Logger.
func (*watcher) Infof(string, ...any) {}

// Debugf implements badger.Logger.
func (*watcher) Debugf(string, ...any) {}
