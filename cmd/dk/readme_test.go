package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules"
)

func readme(t *testing.T) string {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	return string(b)
}

// block returns the fenced block of the README that begins with a line.
func block(t *testing.T, first string) string {
	_, rest, ok := strings.Cut(readme(t), first)
	require.Truef(t, ok, "the README has no block that begins with %q", first)
	body, _, ok := strings.Cut(rest, "\n```")
	require.True(t, ok)
	return body
}

// What the README shows is what the program prints.
func TestReadmeShowsTheDemo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the demo needs the go command")
	}
	var out, errs strings.Builder
	require.Equal(t, 0, run(t.Context(), []string{"demo"}, strings.NewReader(""), &out, &errs), errs.String())
	printed := regexp.MustCompile(`\S*/dk-demo-\d+`).ReplaceAllString(out.String(), "/tmp/dk-demo-1")
	require.Contains(t, printed, strings.TrimPrefix(block(t, "$ dk verify session.jsonl"), "\n"))
}

func TestReadmePack(t *testing.T) {
	src := "pack: team/own" + block(t, "```yaml\npack: team/own")
	p, err := rules.ParsePack("team.yaml", []byte(src+"\n"))
	require.NoError(t, err)
	for _, r := range p.RunTests() {
		require.Truef(t, r.OK(), "%+v", r)
	}
	require.Empty(t, p.Untested())
	set, err := rules.NewRuleset(append(rules.DefaultPacks(), p)...)
	require.NoError(t, err)
	require.Equal(t, "no_make", decide(set, "make check", gateFlags{kind: "command"}).Reason)
	require.Equal(t, "allow", decide(set, "quickcheck --all", gateFlags{kind: "command"}).Decision)
}

// Every verb the README names is there.
func TestReadmeNamesRealVerbs(t *testing.T) {
	a := &app{out: newPrinter(os.Stdout), err: newPrinter(os.Stderr)}
	root := a.rootCommand()
	for _, m := range regexp.MustCompile("(?m)(?:^|`|cmd/)dk ([a-z]+)").FindAllStringSubmatch(readme(t), -1) {
		c, _, err := root.Find([]string{m[1]})
		require.NoError(t, err)
		require.Equal(t, m[1], c.Name())
	}
}
