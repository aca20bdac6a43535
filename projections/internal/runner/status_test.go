package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules/shell"
)

// The status of what was checked. T is a command that checks, f and g are ones that do not; the digits are the results
// in order, - is one that was not reached.
func TestCheckStatus(t *testing.T) {
	plan := func(o shell.Op, kids ...*shell.Plan) *shell.Plan {
		p := &shell.Plan{Op: o}
		for _, k := range kids {
			p.Kids = append(p.Kids, *k)
		}
		return p
	}
	run := func(checks bool) *shell.Plan {
		return &shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{Checks: checks}}
	}
	T, f := run(true), run(false)
	pipe := func(k ...*shell.Plan) *shell.Plan { return plan(shell.OpPipe, k...) }
	and := func(k ...*shell.Plan) *shell.Plan { return plan(shell.OpAnd, k...) }
	or := func(k ...*shell.Plan) *shell.Plan { return plan(shell.OpOr, k...) }
	seq := func(k ...*shell.Plan) *shell.Plan { return plan(shell.OpSeq, k...) }
	not := func(k *shell.Plan) *shell.Plan { return plan(shell.OpNot, k) }
	sub := func(k *shell.Plan) *shell.Plan { return plan(shell.OpSub, k) }
	for _, tc := range []struct {
		name    string
		plan    *shell.Plan
		results []int
		want    int
	}{
		{"T", T, []int{3}, 3},
		{"T | f", pipe(T, f), []int{3, 0}, 3},
		{"T | f, both fail", pipe(T, f), []int{3, 1}, 3},
		{"T | f, f fails", pipe(T, f), []int{0, 1}, 1},
		{"T | f, reader gone", pipe(T, f), []int{141, 0}, 0},
		{"T | T | f", pipe(T, T, f), []int{0, 2, 0}, 2},
		{"f | T", pipe(f, T), []int{1, 0}, 0},
		{"f | T, T cut off is its own", pipe(f, T), []int{0, 141}, 141},
		{"! T", not(T), []int{1}, 0},
		{"! T, T passes", not(T), []int{0}, 1},
		{"! T | f hides", not(pipe(T, f)), []int{1, 1}, 1},
		{"T || f", or(T, f), []int{2, 0}, 2},
		{"T || f, T passes", or(T, f), []int{0, -1}, 0},
		{"T || T is an alternative", or(T, T), []int{2, 0}, 0},
		{"T || T, both fail", or(T, T), []int{2, 4}, 4},
		{"T || f || T", or(T, f, T), []int{2, 1, 0}, 0},
		{"T || f && f", or(T, and(f, f)), []int{2, 0, 0}, 2},
		{"T && f || f", or(and(T, f), f), []int{2, -1, 0}, 2},
		{"T | f || T keeps what the pipe hid", or(pipe(T, f), T), []int{2, 0, -1}, 2},
		{"T; f", seq(T, f), []int{2, 0}, 2},
		{"T; f, f fails", seq(T, f), []int{0, 5}, 5},
		{"T; T; T", seq(T, T, T), []int{0, 2, 3}, 2},
		{"f; T", seq(f, T), []int{1, 0}, 0},
		{"T && f", and(T, f), []int{0, 6}, 6},
		{"T | f && f", and(pipe(T, f), f), []int{2, 0, 0}, 2},
		{"(T; f)", sub(seq(T, f)), []int{2, 0}, 2},
		{"(T | f); f", seq(sub(pipe(T, f)), f), []int{2, 0, 0}, 2},
		{"f || f, nothing checks", or(f, f), []int{2, 0}, 2},
		{"f; f, nothing checks", seq(f, f), []int{2, 0}, 2},
		{"f || f; T", seq(or(f, f), T), []int{2, 0, 0}, 0},
		{"nothing ran", and(T, T), []int{-1, -1}, 0},
	} {
		require.Equal(t, tc.want, checkStatus(tc.plan, tc.results), tc.name)
	}
}

func TestFiltersChecks(t *testing.T) {
	T := &shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{Checks: true}}
	f := &shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{}}
	pipe := func(a, b *shell.Plan) *shell.Plan {
		return &shell.Plan{Op: shell.OpPipe, Kids: []shell.Plan{*a, *b}}
	}
	require.True(t, filtersChecks(pipe(T, f)))
	require.True(t, filtersChecks(&shell.Plan{Op: shell.OpSeq, Kids: []shell.Plan{*f, *pipe(T, f)}}))
	require.False(t, filtersChecks(pipe(f, T)))
	require.False(t, filtersChecks(T))
}

// planNothing is a plan of one command about which nothing is known.
var planNothing = shell.Plan{Op: shell.OpRun, Exec: &shell.Exec{Argv: []shell.Word{{{Kind: "lit", Text: "make"}}}}}
