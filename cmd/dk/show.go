package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

func (a *app) showCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "show ID",
		Short: "Show one node of the graph and its edges",
		Long: `show prints a node and its edges. ID is a node's id or a unique beginning of it, the agent's own id of a claim (the newest
one), a memory node's key or type/key in this folder, or an event as #N.`,
		Example: "  dk show t1\n  dk show '#12'",
		Args:    needID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(_ *projections.Projector, v *graph.View) error { return a.show(v, args[0]) })
		},
	})
}

func needID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return withHint(errors.New("name one id"), "dk claims lists claims, dk receipts receipts, dk nodes memory nodes")
	}
	return nil
}

// resolve finds what a person means by ref.
func resolve(v *graph.View, ref string) (graph.Node, error) {
	n, err := v.Resolve(ref)
	if err == nil {
		return n, nil
	}
	if cwd, werr := filepath.Abs("."); werr == nil && errors.Is(err, graph.ErrNotFound) {
		if nodes, nerr := v.Named(graph.KindMemory, cwd, ref); nerr == nil && len(nodes) > 0 {
			return nodes[0], nil
		}
	}
	return n, withHint(err, "dk claims lists claims, dk receipts receipts, dk nodes memory nodes")
}

// shownNode is the form of a node on stdout with --json.
type shownNode struct {
	graph.Node
	Out []shownEdge `json:"out"`
	In  []shownEdge `json:"in"`
}

type shownEdge struct {
	Kind  graph.EdgeKind `json:"kind"`
	ID    string         `json:"id"`
	Is    graph.Kind     `json:"is"`
	Title string         `json:"title"`
	Seq   uint64         `json:"seq"`
}

// maxEdges bounds how many edges of a node are shown.
const maxEdges = 200

func (a *app) show(v *graph.View, ref string) error {
	n, err := resolve(v, ref)
	if err != nil {
		return err
	}
	s := shownNode{Node: n, Out: []shownEdge{}, In: []shownEdge{}}
	for e := range v.Out(n.ID) {
		if s.Out, err = appendEdge(v, s.Out, e, false); err != nil {
			return err
		}
	}
	for e := range v.In(n.ID) {
		if s.In, err = appendEdge(v, s.In, e, true); err != nil {
			return err
		}
	}
	if a.json {
		return a.out.jsonLine(s)
	}
	a.printShown(s)
	return nil
}

func appendEdge(v *graph.View, list []shownEdge, e graph.Edge, in bool) ([]shownEdge, error) {
	if len(list) == maxEdges {
		return list, nil
	}
	id := e.To
	if in {
		id = e.From
	}
	other, err := v.Node(id)
	if err != nil {
		return list, err
	}
	title := other.Title
	if other.Name != "" {
		title = other.Name + "  " + title
	}
	return append(list, shownEdge{Kind: e.Kind, ID: id.String(), Is: other.Kind, Title: title, Seq: e.Seq}), nil
}

func (a *app) printShown(s shownNode) {
	a.out.printf("%s %s\n", a.out.paint(bold, s.Kind.String()), s.ID)
	for _, f := range [][2]string{
		{"type", s.Type},
		{"name", s.Name},
		{"title", s.Title},
		{"workspace", s.Workspace},
		{"event", "#" + itoa(int(s.Seq))},
		{"recorded", s.Recorded.Local().Format("2006-01-02 15:04:05")},
	} {
		if f[1] != "" {
			a.out.printf("  %s  %s\n", pad(f[0], 9), short(f[1], 200))
		}
	}
	for _, e := range s.Out {
		a.out.printf("  → %s  %s %s  %s\n", pad(e.Kind.String(), 12), e.Is, e.ID, a.out.paint(dim, short(e.Title, 60)))
	}
	for _, e := range s.In {
		a.out.printf("  ← %s  %s %s  %s\n", pad(e.Kind.String(), 12), e.Is, e.ID, a.out.paint(dim, short(e.Title, 60)))
	}
	if len(s.Body) > 0 {
		var b bytes.Buffer
		if json.Indent(&b, s.Body, "  ", "  ") == nil {
			a.out.printf("  %s\n", cleanLines(b.String()))
		}
	}
}
