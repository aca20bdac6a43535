package main

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/dalkkak/dkgraph/"

// mayImport says which of our packages each may import, test files aside. Imports point one way:
// cmd → projections → {rules, graph} → events.
var mayImport = map[string][]string{
	"events":                      {},
	"events/badgerlog":            {"events"},
	"events/memlog":               {"events"},
	"events/logtest":              {"events"},
	"events/transcript":           {"events"},
	"rules/shell":                 {},
	"rules":                       {"events", "rules/shell"},
	"graph":                       {"events"},
	"projections/internal/issuer": {"events"},
	"projections/internal/runner": {"events", "rules/shell"},
	"projections": {
		"events", "events/badgerlog", "events/transcript", "graph", "rules", "projections/internal/issuer",
		"projections/internal/runner",
	},
	"cmd/dk": {"events", "graph", "rules", "projections"},
}

// doors are the packages that alone import a module.
var doors = map[string][]string{
	"github.com/dgraph-io/badger":   {"events/badgerlog", "graph"},
	"github.com/google/cel-go":      {"rules"},
	"mvdan.cc/sh":                   {"rules/shell"},
	"github.com/oklog/ulid":         {"events"},
	"go.yaml.in/yaml":               {"rules", "rules/shell"},
	"github.com/spf13/cobra":        {"cmd/dk"},
	"golang.org/x/sys":              {"events/badgerlog", "projections/internal/runner"},
	"github.com/stretchr/testify":   {"events/logtest"},
	"github.com/klauspost":          {"events/badgerlog"}, // snappy: blocks are checked before Badger reads them
	"pgregory.net/rapid":            {},
	"github.com/rogpeppe":           {},
	"golang.org/x/sync":             {"events/badgerlog"},
	"golang.org/x/mod":              {"events", "events/logtest"},
	"github.com/in-toto":            {}, // tests alone
	"github.com/secure-systems-lab": {},
}

type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []goPackage {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,GoFiles", module+"...")
	out, err := cmd.Output()
	require.NoError(t, err)
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else {
			require.NoError(t, err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := mayImport[name]
		require.Truef(t, known, "package %s is not in the table of mayImport: say what it may import", name)
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, module); ok {
				require.Truef(t, slices.Contains(allowed, own), "%s must not import %s", name, own)
			}
			for mod, may := range doors {
				if strings.HasPrefix(imp, mod) {
					require.Truef(t, slices.Contains(may, name), "%s must not import %s: its door is %v", name, imp, may)
				}
			}
		}
	}
}

// The sealing key has one home, and nothing reaches around the type system.
func TestForbiddenCalls(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, file := range p.GoFiles {
			src := source(t, filepath.Join(p.Dir, file))
			if name != "projections/internal/issuer" && name != "events" && name != "events/logtest" {
				require.NotContainsf(t, src, "events.NewIssuer(", "%s/%s", name, file)
			}
			require.NotContainsf(t, src, "go:linkname", "%s/%s", name, file)
			if name == "rules" || name == "rules/shell" {
				require.NotContainsf(t, src, "time.Now", "%s/%s: rules have no clock", name, file)
			}
		}
		if name != "projections/internal/runner" { // system calls
			require.NotContains(t, p.Imports, "unsafe", name)
		}
	}
}

// Every package says in the first paragraphs of its doc in which direction it fails.
func TestPackageDocsSayHowTheyFail(t *testing.T) {
	for _, p := range packages(t) {
		doc := ""
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
			require.NoError(t, err)
			doc += f.Doc.Text()
		}
		head := strings.Join(strings.SplitN(doc, "\n\n", 3)[:min(2, strings.Count(doc, "\n\n")+1)], " ")
		says := false
		for _, word := range []string{"fail", "stops", "stop", "refuse", "never"} {
			says = says || strings.Contains(strings.ToLower(head), word)
		}
		require.Truef(t, says, "%s: the doc does not open with its fail direction", p.ImportPath)
	}
}

// The top level is fixed.
func TestTopLevel(t *testing.T) {
	root := filepath.Join("..", "..")
	entries, err := filepath.Glob(filepath.Join(root, "*"))
	require.NoError(t, err)
	allowed := []string{
		"cmd", "events", "graph", "rules", "projections", "testdata", "go.mod", "go.sum", "README.md", "LICENSE",
	}
	for _, e := range entries {
		if strings.HasPrefix(filepath.Base(e), ".") {
			continue
		}
		require.Contains(t, allowed, filepath.Base(e))
	}
}

func source(t *testing.T, name string) string {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}
