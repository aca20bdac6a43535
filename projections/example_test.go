package projections_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

func Example() {
	ctx := context.Background()
	repo, _ := os.MkdirTemp("", "repo")
	defer os.RemoveAll(repo)
	_ = os.WriteFile(filepath.Join(repo, "notes.md"), []byte("release notes\n"), 0o600)
	transcript := claudeSays(repo, `<dk-verify>{"id":"t1","claim":"notes written","kind":"file","verify":"notes.md","expect":"contains: release"}</dk-verify>`,
		`<dk-verify>{"id":"t2","claim":"cleaned up","kind":"command","verify":"rm -rf build"}</dk-verify>`)

	store, _ := os.MkdirTemp("", "store") // never within a root: what is run there must not read its key
	defer os.RemoveAll(store)
	p, err := projections.Open(ctx, store, projections.Options{Roots: []string{repo}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	in, _ := p.Ingest(ctx, strings.NewReader(transcript), "session.jsonl")
	_, _ = p.Verify(ctx, in.Claims, projections.VerifyOptions{})

	v := p.Graph().View()
	defer v.Close()
	for receipt := range v.List(graph.KindReceipt) { // newest first
		fmt.Println(receipt.Type, receipt.Name)
	}
	// Output:
	// unsafe destructive_command
	// verified as_claimed
}
