package badgerlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/badgerlog"
	"github.com/dalkkak/dkgraph/events/logtest"
)

type dir string

func (d dir) Open(t *testing.T) events.Backend {
	b, err := badgerlog.Open(string(d))
	require.NoError(t, err)
	return b
}

func TestBackend(t *testing.T) {
	logtest.Run(t, func(t *testing.T) logtest.Store { return dir(t.TempDir()) })
}

func TestSecondProcessIsKeptOut(t *testing.T) {
	d := dir(t.TempDir())
	b := d.Open(t)
	_, err := badgerlog.Open(string(d))
	require.ErrorIs(t, err, badgerlog.ErrInUse)
	require.NoError(t, b.Close())
	require.NoError(t, d.Open(t).Close())
}

// The value log must stay empty: its read errors are only logged by Badger.
func TestValuesStayOutOfTheValueLog(t *testing.T) {
	d := dir(t.TempDir())
	b := d.Open(t)
	big := events.Entry{Key: events.Sum([]byte("big")), Data: make([]byte, events.MaxEventBytes+64)}
	require.NoError(t, b.Append(t.Context(), 0, []events.Entry{big}))
	require.NoError(t, b.Close())
	logs, err := filepath.Glob(filepath.Join(string(d), "*.vlog"))
	require.NoError(t, err)
	for _, name := range logs {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(20), "only its header")
	}
}
