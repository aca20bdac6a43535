package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Everything that rules/README.md shows is so: its packs are written to files, its commands run in order, and what they
// print is what stands there. "…" stands for anything.
func TestRulesReadme(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "rules", "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```([a-z]*)\n(.*?)\n```").FindAllStringSubmatch(string(b), -1)
	require.Greater(t, len(blocks), 8)
	t.Chdir(t.TempDir())
	t.Setenv("DK_STORE", filepath.Join(t.TempDir(), "store"))
	for _, bl := range blocks { // files may stand after the commands that use them
		if bl[1] == "yaml" {
			name, _, _ := strings.Cut(strings.TrimPrefix(bl[2], "# "), "\n")
			require.NoError(t, os.WriteFile(name, []byte(bl[2]+"\n"), 0o600))
		}
	}
	for _, bl := range blocks {
		switch bl[1] {
		case "yaml":
		case "console":
			for step := range strings.SplitSeq(strings.TrimPrefix(bl[2], "$ "), "\n$ ") {
				command, want, _ := strings.Cut(step, "\n")
				require.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")+"$", printed(t, command), command)
			}
		default:
			t.Errorf("a block of kind %q is run by nobody", bl[1])
		}
	}
}

// printed runs a command line and returns what it prints.
func printed(t *testing.T, command string) string {
	words := strings.Fields(command)
	require.Equal(t, "dk", words[0], command)
	if before, quoted, ok := strings.Cut(command, " '"); ok {
		words = append(strings.Fields(before), strings.TrimSuffix(quoted, "'"))
	}
	var out strings.Builder
	code := run(t.Context(), words[1:], strings.NewReader(""), &out, &out)
	require.NotEqual(t, 2, code, out.String())
	return strings.TrimSuffix(out.String(), "\n")
}

// Every verb the README of the rules names is there.
func TestRulesReadmeNamesRealVerbs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "rules", "README.md"))
	require.NoError(t, err)
	root := (&app{out: newPrinter(os.Stdout), err: newPrinter(os.Stderr)}).rootCommand()
	for _, m := range regexp.MustCompile("`dk rules ([a-z]+)").FindAllStringSubmatch(string(b), -1) {
		c, _, err := root.Find([]string{"rules", m[1]})
		require.NoError(t, err)
		require.Equal(t, m[1], c.Name())
	}
}
