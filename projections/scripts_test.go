package projections_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

// TestScriptsMoveAfterTheGate: what the gate judged is what runs, or nothing does.
func TestScriptsMoveAfterTheGate(t *testing.T) {
	b := newBench(t)
	makefile := filepath.Join(b.repo, "Makefile")
	write := func(recipe string) {
		require.NoError(t, os.WriteFile(makefile, []byte("check:\n\t"+recipe+"\n"), 0o644))
	}
	write("grep -q release notes.md")
	p := b.open(t)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo,
		`<dk-verify>{"id":"t1","claim":"checked","kind":"command","verify":"make check"}</dk-verify>`)), "session.jsonl")
	require.NoError(t, err)

	verify := func(opts projections.VerifyOptions) string {
		results, err := p.Verify(t.Context(), in.Claims, opts)
		require.NoError(t, err)
		if results[0].Receipt == nil {
			return ""
		}
		r, err := graph.Decode[events.Receipt](*results[0].Receipt)
		require.NoError(t, err)
		return string(r.Verdict) + " " + r.Reason
	}
	require.Empty(t, verify(projections.VerifyOptions{NoRun: true}))
	change := projections.VerifyOptions{Started: func(graph.Node, string) { write("touch evil") }}
	require.Equal(t, "unrunnable subject_moved", verify(change))
	require.NoFileExists(t, filepath.Join(b.repo, "evil"))

	// The next time it is judged as it is now.
	require.Equal(t, "unsafe destructive_command", verify(projections.VerifyOptions{}))
	require.NoFileExists(t, filepath.Join(b.repo, "evil"))
	audit, err := p.Audit(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, audit.OK(), audit.Findings)
}

// TestOldDecisionOfOtherScripts: a decision that was made before the scripts changed is not taken up.
func TestOldDecisionOfOtherScripts(t *testing.T) {
	b := newBench(t)
	makefile := filepath.Join(b.repo, "Makefile")
	require.NoError(t, os.WriteFile(makefile, []byte("check:\n\tgrep -q release notes.md\n"), 0o644))
	p := b.open(t)
	in, err := p.Ingest(t.Context(), strings.NewReader(claudeSays(b.repo,
		`<dk-verify>{"id":"t1","claim":"checked","kind":"command","verify":"make check"}</dk-verify>`)), "session.jsonl")
	require.NoError(t, err)
	_, err = p.Verify(t.Context(), in.Claims, projections.VerifyOptions{NoRun: true})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(makefile, []byte("check:\n\tgit push\n"), 0o644))
	results, err := p.Verify(t.Context(), in.Claims, projections.VerifyOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"unsafe publishes"}, verdicts(t, results))
}

func TestScriptsIn(t *testing.T) {
	b := newBench(t)
	read, err := projections.ScriptsIn(b.repo)
	require.NoError(t, err)
	require.Equal(t, "release notes\n", string(read("notes.md").Text))
	require.Zero(t, read("package.json"))
	require.Zero(t, read("notes.md/package.json"))
	require.Equal(t, "outside", read("../package.json").Problem)
	require.NoError(t, os.WriteFile(filepath.Join(b.repo, "Makefile"), make([]byte, 256<<10+1), 0o644))
	require.Equal(t, "cannot be read", read("Makefile").Problem)
	require.NoError(t, os.WriteFile(filepath.Join(b.repo, "package.json"), nil, 0o644))
	require.NotNil(t, read("package.json").Text)
	_, err = projections.ScriptsIn(filepath.Join(b.repo, "nosuch"))
	require.Error(t, err)
}
