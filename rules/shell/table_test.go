package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTables loads what is embedded; an unknown key, role, class or effect is an error.
func TestTables(t *testing.T) {
	tab, err := loadTables()
	require.NoError(t, err)
	require.Greater(t, len(tab.tools), 500)
	require.NotEmpty(t, tab.examples)
}

// TestExamples holds every table to what it promises.
func TestExamples(t *testing.T) {
	for _, e := range theTables().examples {
		a := Analyse(e.text)
		if e.safe {
			require.Empty(t, whyNot(a), "%s: safe: %s", e.file, e.text)
			continue
		}
		require.NotEmpty(t, whyNot(a), "%s: denied: %s", e.file, e.text)
	}
}
