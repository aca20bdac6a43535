package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules"
)

func TestDefaultPacks(t *testing.T) {
	for _, p := range rules.DefaultPacks() {
		for _, res := range p.RunTests() {
			if !res.OK() {
				t.Errorf("%s: %s: test %q, line %d: want %s, got %s %s", p.Name, res.Rule, res.Test, res.Line, res.Want, res.Got, res.Err)
			}
		}
		require.Empty(t, p.Untested(), "every rule has a test that matches and one that does not")
	}
}
