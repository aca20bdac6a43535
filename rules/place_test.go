package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules"
)

// A fault is found where it stands, in every way YAML has of writing a text.
func TestPlaces(t *testing.T) {
	for name, when := range map[string]string{
		"plain":               "when: call.name == 'é' && call.nope == 'x'",
		"over lines":          "when: call.name == 'é' &&\n      call.nope == 'x'",
		"in single quotes":    "when: 'call.name == ''é'' && call.nope == ''x'''",
		"in double quotes":    `when: "call.name == \"é\" && call.nope == 'x'"`,
		"a literal block":     "when: |\n      call.name == 'é' &&\n        call.nope == 'x'",
		"with an empty line":  "when: |-\n\n      call.name == 'é' &&\n\n      call.nope == 'x'",
		"a folded block":      "when: >-\n      call.name == 'é' &&\n      call.nope == 'x'",
		"folded, more lines":  "when: >\n      call.name\n      == 'é'\n      &&\n      call.nope\n      == 'x'",
		"with carriage ends":  "when: >-\r\n      call.name == 'é' &&\r\n      call.nope == 'x'",
		"a comment before it": "# call.nope\n    when: call.nope == 'x'",
	} {
		src := packHead + "rules:\n  - id: r\n    phase: gate\n    effect: deny\n    reason: x\n    " + when + "\n"
		_, err := rules.ParsePack("p.yaml", []byte(src))
		before := src[:strings.LastIndex(src, ".nope")]
		line := strings.Count(before, "\n") + 1
		col := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
		require.EqualErrorf(t, err, fmt.Sprintf("p.yaml:%d:%d: r: undefined field 'nope'", line, col), "%s:\n%s", name, src)
	}
}
