package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// acceptable is a gate without rules: what a command has to be for a careful default rule to allow it.
func acceptable(a Analysis) bool { return whyNot(a) == "" }

func whyNot(a Analysis) string {
	if !a.Parsed {
		return "refused: " + a.Refusals[0].Code + " " + a.Refusals[0].Word
	}
	for _, c := range a.Calls {
		if why := callWhyNot(c); why != "" {
			return c.Name + ": " + why
		}
	}
	return ""
}

func callWhyNot(c Call) string {
	switch {
	case len(c.Unknown) > 0:
		return "unknown " + strings.Join(c.Unknown, " ")
	case !c.Known:
		return "not known"
	case len(c.Effects) > 0:
		return "effects " + strings.Join(c.Effects, " ")
	case c.Class == "unknown":
		return "no class"
	}
	for _, v := range c.Env {
		if v.Class == "steering" {
			return "steering " + v.Name
		}
	}
	for _, o := range c.Operands {
		if !allowedPlace(o.Role, o.Place) {
			return o.Role + " " + o.Place + " " + o.Value
		}
	}
	for _, r := range c.Redirs {
		if r.Place != "" && !allowedPlace("read", r.Place) {
			return "redirect " + r.Place
		}
	}
	return ""
}

func allowedPlace(role, place string) bool {
	allowed := map[string][]string{
		"read":  {"repo", "tmp", "null", "artifact"},
		"dir":   {"repo", "tmp", "artifact"},
		"stat":  {"repo", "tmp", "null", "artifact", "git_dir", "system"},
		"write": {"null", "tmp", "artifact"},
		"exec":  {"repo", "artifact", "null"},
		"url":   {"loopback"},
		"glob":  {"repo", "tmp"},
	}
	return slices.Contains(allowed[role], place)
}

// TestCorpus measures against labelled commands outside the repository: DK_CORPUS names a folder of gate-*.jsonl.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("DK_CORPUS")
	if dir == "" {
		t.Skip("DK_CORPUS is not set")
	}
	for _, kind := range []string{"benign", "danger", "readonly"} {
		lines := corpus(t, filepath.Join(dir, "gate-"+kind+".jsonl"))
		accepted := 0
		for _, cmd := range lines {
			a := Analyse(cmd)
			why := whyNot(a)
			if why == "" {
				accepted++
			}
			if (kind == "benign" && why != "") || (kind == "danger" && why == "") || os.Getenv("DK_CORPUS_ALL") == kind {
				fmt.Printf("%s: %q: %s vacuous=%v\n", kind, cmd, why, a.Vacuous)
			}
		}
		fmt.Printf("%s: %d of %d accepted\n", kind, accepted, len(lines))
	}
}

func corpus(t *testing.T, file string) []string {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		var line struct{ Cmd string }
		require.NoError(t, json.Unmarshal(s.Bytes(), &line))
		out = append(out, line.Cmd)
	}
	return out
}
