package rules

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the list of facts into README.md")

// The list of facts in README.md is the one that rules are typed against, with the comments of the code.
func TestFactsInReadme(t *testing.T) {
	b, err := os.ReadFile("README.md")
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(b), "<!-- facts -->\n")
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, "<!-- /facts -->")
	require.True(t, ok)
	want := head + "<!-- facts -->\n" + factsTable(t) + "<!-- /facts -->" + tail
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(b), "go test ./rules -run TestFactsInReadme -update")
}

func factsTable(t *testing.T) string {
	w := factWriter{t: t, comments: make(map[string]string)}
	for _, dir := range []string{".", "shell", filepath.Join("..", "events")} {
		w.readComments(dir)
	}
	w.b.WriteString("| fact | type | |\n|---|---|---|\n")
	w.list("call", "dk.Call")
	w.list("command", "dk.Command")
	w.list("claim", "dk.Claim")
	w.list("run", "dk.Run")
	w.list("files[]", "dk.File")
	return w.b.String()
}

type factWriter struct {
	t        *testing.T
	b        strings.Builder
	comments map[string]string // Type.json name → comment
}

func (w *factWriter) list(path, typ string) {
	st := factTypes()[typ]
	require.NotNil(w.t, st, typ)
	for _, f := range st.fields {
		name, inner := path+"."+f.name, f.typ
		kind := inner.TypeName()
		if inner.Kind() == types.ListKind {
			inner = inner.Parameters()[0]
			kind = "list of " + inner.TypeName()
		}
		nested := inner.Kind() == types.StructKind
		if nested {
			kind = strings.Replace(kind, inner.TypeName(), map[bool]string{true: "objects", false: "object"}[kind != inner.TypeName()], 1)
		}
		comment := w.comments[strings.TrimPrefix(typ, "dk.")+"."+f.name]
		if f.optional {
			comment = strings.TrimSuffix("*not always*; "+comment, "; ")
		}
		fmt.Fprintf(&w.b, "| `%s` | %s | %s |\n", name, strings.TrimPrefix(kind, "google.protobuf."), strings.ReplaceAll(comment, "|", `\|`))
		switch {
		case !nested:
		case inner.TypeName() == "dk.Call":
			fmt.Fprintf(&w.b, "| `%s[].…` | | as in `call` |\n", name)
		case name == "run.files":
			fmt.Fprintf(&w.b, "| `%s[].…` | | as in `files[]` |\n", name)
		case strings.HasPrefix(kind, "list"):
			w.list(name+"[]", inner.TypeName())
		default:
			w.list(name, inner.TypeName())
		}
	}
}

// readComments takes the comments of struct members from the code.
func (w *factWriter) readComments(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(w.t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(w.t, err)
		ast.Inspect(file, w.structs)
	}
}

// structNames are types whose facts have another name; "" are none.
var structNames = map[string]string{"Analysis": "Command", "ClaimFacts": "Claim", "Claim": ""}

func (w *factWriter) structs(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return true
	}
	name := spec.Name.Name
	if as, ok := structNames[name]; ok {
		name = as
	}
	for _, f := range st.Fields.List {
		w.comment(name, f)
	}
	return true
}

func (w *factWriter) comment(typ string, f *ast.Field) {
	if f.Tag == nil {
		return
	}
	_, tag, _ := strings.Cut(f.Tag.Value, `json:"`)
	tag, _, _ = strings.Cut(tag, `"`)
	tag, _, _ = strings.Cut(tag, ",")
	if text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " "); text != "" && w.comments[typ+"."+tag] == "" {
		w.comments[typ+"."+tag] = text
	}
}
