package projections

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/dalkkak/dkgraph/projections/internal/runner"
	"github.com/dalkkak/dkgraph/rules"
)

// maxScriptBytes bounds the files that scripts are read from.
const maxScriptBytes = 256 << 10

// problemMoved: what a command would run is no longer what the gate was shown.
const problemMoved = "subject_moved"

// ScriptsIn reads the files of the project in dir that say what its scripts are, for [rules.NewFactsWith]. It never leaves
// dir, not through symlinks either.
func ScriptsIn(dir string) (rules.ReadScript, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	return func(path string) rules.ScriptFile { return scriptFile(real, real, path) }, nil
}

// scriptFile reads one file. That there is none is a fact; one that is there and cannot be read is a problem, as nobody can
// tell what it says.
func scriptFile(root, cwd, path string) rules.ScriptFile {
	text, err := runner.Read(root, cwd, path, maxScriptBytes)
	switch {
	case err == nil:
		return rules.ScriptFile{Text: text}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return rules.ScriptFile{}
	case errors.Is(err, runner.ErrOutside):
		return rules.ScriptFile{Problem: rules.ScriptOutside}
	}
	return rules.ScriptFile{Problem: "cannot be read"}
}

// gateFacts are what the gate is shown of a claim: its text and, in a granted folder, what its scripts are right now.
func (p *Projector) gateFacts(c *verifying) rules.Facts {
	pl := p.where(c)
	if pl.problem != "" {
		return rules.NewFacts(c.claim, c.folder())
	}
	return rules.NewFactsWith(c.claim, c.folder(), func(path string) rules.ScriptFile { return scriptFile(pl.root, pl.cwd, path) })
}

// moved names a file that says what the command runs and is not as the gate saw it, or "".
func (p *Projector) moved(c *verifying) string {
	seen, now := c.facts.Command.Sources, p.gateFacts(c).Command.Sources
	if slices.Equal(seen, now) {
		return ""
	}
	for _, s := range seen {
		if !slices.Contains(now, s) {
			return s.Path
		}
	}
	for _, s := range now {
		if !slices.Contains(seen, s) {
			return s.Path
		}
	}
	return "a script"
}
