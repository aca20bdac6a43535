package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

// predicates by the short names of --predicate.
func predicates() map[string]string {
	return map[string]string{
		"claim": projections.PredicateClaim, "test-result": projections.PredicateTestResult, "svr": projections.PredicateSVR,
	}
}

func (a *app) receiptsExportCommand() *cobra.Command {
	var format, predicate, out string
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Export a receipt as a signed in-toto statement",
		Long: `export writes a receipt as an in-toto statement in a DSSE envelope, signed with the log's key. The predicate claim holds claim,
gate, run, judge and the proof that the receipt is in the log; test-result and svr say less, for tools that know them, and
only of receipts that fit: tests that ran, claims that were verified.`,
		Example: "  dk receipts export t1 --out t1.dsse.json\n  dk receipts export t1 --predicate test-result",
		Args:    needID,
		RunE: func(c *cobra.Command, args []string) error {
			name, ok := predicates()[predicate]
			if !ok || format != "dsse" {
				return withHint(errors.New("no such format or predicate"), "--format dsse --predicate claim, test-result or svr")
			}
			return a.read(c.Context(), func(p *projections.Projector, v *graph.View) error {
				n, err := resolve(v, args[0])
				if err != nil {
					return err
				}
				env, err := p.Attest(c.Context(), n, name)
				if err != nil {
					return err
				}
				return a.writeOut(out, func(w io.Writer) error { return json.NewEncoder(w).Encode(env) })
			})
		},
	}
	c.Flags().StringVar(&format, "format", "dsse", "dsse")
	c.Flags().StringVar(&predicate, "predicate", "claim", "claim, test-result or svr")
	c.Flags().StringVar(&out, "out", "", "file to write (default stdout)")
	return c
}
