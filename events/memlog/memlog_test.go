package memlog_test

import (
	"testing"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/logtest"
	"github.com/dalkkak/dkgraph/events/memlog"
)

type store struct{ *memlog.Store }

func (s store) Open(*testing.T) events.Backend { return s.Store.Open() }

func TestBackend(t *testing.T) {
	logtest.Run(t, func(*testing.T) logtest.Store { return store{memlog.NewStore()} })
}
