package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

// demoFiles are a small Go module: one package whose tests pass, one whose test does not.
//
//go:embed demo
var demoFiles embed.FS

// demoMessages are what the agent of the demo says.
var demoMessages = []string{
	"I added Add and tested it.\n\n" +
		`<dk-verify>{"id":"t1","claim":"the tests of calc pass","kind":"test","verify":"go test ./calc","about":["calc"]}</dk-verify>` + "\n" +
		`<dk-node>{"node_type":"structure","key":"calc","title":"calc adds two integers","provenance":"inferred"}</dk-node>`,
	"All tests pass now.\n\n" +
		`<dk-verify>{"id":"t2","claim":"all tests pass","kind":"test","verify":"go test ./... 2>&1 | tail -20"}</dk-verify>`,
	"Cleaned up and tested.\n\n" +
		`<dk-verify>{"id":"t3","claim":"clean build passes","kind":"test","verify":"rm -rf calc && go test ./..."}</dk-verify>`,
	"The web tests pass as well.\n\n" +
		`<dk-verify>{"id":"t4","claim":"the web tests pass","kind":"test","verify":"npm test","cwd":"web"}</dk-verify>`,
}

func (a *app) demoCommand() *cobra.Command {
	var keep bool
	c := a.jsonFlag(&cobra.Command{
		Use:   "demo",
		Short: "Show the main job in a temporary folder: a true claim, a false, a destructive, one that cannot run",
		Long: `demo makes a small Go module and a transcript in a temporary folder, verifies what the transcript claims, prints the receipts
and how one of them came about, and removes the folder again. It needs the go command.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), keep) },
	})
	c.Flags().BoolVar(&keep, "keep", false, "leave the folder, to try other commands on it")
	return c
}

func (a *app) demo(ctx context.Context, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "dk-demo-")
	if err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	// The folder of temporary files may be a symlink; claims are about the real one.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	repo, session := filepath.Join(dir, "repo"), filepath.Join(dir, "session.jsonl")
	if err := errors.Join(writeDemo(repo), os.WriteFile(session, demoTranscript(repo), 0o600)); err != nil {
		return err
	}
	a.store = filepath.Join(dir, "store")
	if !a.json {
		a.err.printf("an agent worked in %s and says:\n\n", repo)
		for _, m := range demoMessages {
			a.err.printf("%s\n\n", a.err.paint(dim, indent(m)))
		}
		a.err.printf("dk verify session.jsonl\n\n")
	}
	verr := a.verify(ctx, []string{session}, verifyFlags{roots: []string{repo}})
	if verr != nil && !errors.Is(verr, negativeError{}) {
		return verr
	}
	return a.demoWhy(ctx, dir, session, keep)
}

func (a *app) demoWhy(ctx context.Context, dir, session string, keep bool) error {
	if a.json {
		return nil
	}
	a.err.printf("\ndk why t2\n\n")
	err := a.read(ctx, func(_ *projections.Projector, v *graph.View) error { return a.why(v, "t2") })
	if err != nil {
		return err
	}
	if keep {
		a.err.printf("\nkept: %s\ntry: dk --store %s log\n     dk --store %s verify --root %s %s\n", dir, a.store, a.store, filepath.Join(dir, "repo"), session)
	}
	return nil
}

func writeDemo(repo string) error {
	return fs.WalkDir(demoFiles, "demo", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Files carry a suffix here, so that the go command does not take them for its own.
		to := filepath.Join(repo, strings.TrimSuffix(filepath.FromSlash(strings.TrimPrefix(path, "demo")), ".txt"))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := demoFiles.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
}

// demoTranscript makes a transcript as Claude Code writes it.
func demoTranscript(cwd string) []byte {
	var out []byte
	for i, text := range demoMessages {
		line, err := json.Marshal(map[string]any{
			"type": "assistant", "uuid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "sessionId": "demo",
			"timestamp": fmt.Sprintf("2026-01-02T03:04:%02d.000Z", i), "cwd": cwd, "version": "2.0.69",
			"message": map[string]any{
				"id": fmt.Sprintf("msg_demo_%d", i), "role": "assistant", "model": "demo",
				"content": []any{map[string]any{"type": "text", "text": text}},
			},
		})
		if err != nil {
			panic("internal error: " + err.Error()) // strings always encode
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
