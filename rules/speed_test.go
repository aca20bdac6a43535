package rules

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// TestGateTimes prints how long decisions take over a file of JSON Lines with a member cmd:
//
//	DK_GATE_LINES=commands.jsonl go test ./rules -run TestGateTimes -v -cpu 1
//
// It asserts nothing: time depends on the machine.
func TestGateTimes(t *testing.T) {
	name := os.Getenv("DK_GATE_LINES")
	if name == "" {
		t.Skip("DK_GATE_LINES names no file")
	}
	s, err := NewRuleset(DefaultPacks()...)
	require.NoError(t, err)
	const rounds = 20
	stages := []string{"parse + facts", "rules", "decision (both)", "explain", "bare programs"}
	times := make([][]time.Duration, len(stages))
	var every []time.Duration
	for _, command := range commandsOf(t, name) {
		best := make([]time.Duration, len(stages))
		for range rounds {
			for i, d := range timeStages(s, command) {
				if i == 2 {
					every = append(every, d)
				}
				if best[i] == 0 || d < best[i] {
					best[i] = d
				}
			}
		}
		for i, d := range best {
			times[i] = append(times[i], d)
		}
	}
	total := sum(times[2])
	for i, stage := range stages {
		slices.Sort(times[i])
		n := len(times[i])
		t.Logf("%-16s p50 %8v  p99 %8v  max %8v  %5.1f %% of the decision", stage, times[i][n/2], times[i][n*99/100], times[i][n-1], 100*float64(sum(times[i]))/float64(total))
	}
	slices.Sort(every)
	t.Logf("every round      p50 %8v  p99 %8v  max %8v", every[len(every)/2], every[len(every)*99/100], every[len(every)-1])
	t.Logf("%d commands, best of %d rounds each; the decision takes %.1f times the bare programs on ready facts", len(times[0]), rounds, float64(total)/float64(sum(times[4])))
}

func commandsOf(t *testing.T, name string) []string {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	var out []string
	sc := bufio.NewScanner(f)
	for sc.Buffer(nil, 4<<20); sc.Scan(); {
		var l struct {
			Cmd string `json:"cmd"`
		}
		require.NoError(t, json.Unmarshal(sc.Bytes(), &l))
		out = append(out, l.Cmd)
	}
	require.NoError(t, sc.Err())
	return out
}

// timeStages times the stages of one decision.
func timeStages(s *Ruleset, command string) []time.Duration {
	start := time.Now()
	f := NewFacts(events.Claim{ClaimID: "t", Text: "x", Kind: "test", Verify: command}, "")
	facts := time.Since(start)
	start = time.Now()
	d := s.Gate(f)
	gate := time.Since(start)
	start = time.Now()
	s.Explain(f, d.Rules)
	explain := time.Since(start)
	return []time.Duration{facts, gate, facts + gate, explain, timePrograms(s, &f)}
}

// timePrograms times the compiled programs alone: a first round, which does not count, converts every fact and works out
// every variable.
func timePrograms(s *Ruleset, f *Facts) (took time.Duration) {
	facts := factsObject(f)
	for _, a := range s.active {
		fr := newFrame(a.Pack, facts)
		for n := range max(len(fr.calls()), 1) {
			fr.lookAt(n + 1)
			for _, counts := range []bool{false, true} {
				start := time.Now()
				for _, r := range a.Pack.Rules {
					if r.Phase == PhaseGate {
						_, _ = r.when.eval(fr)
					}
				}
				if counts {
					took += time.Since(start)
				}
			}
		}
	}
	return took
}

func sum(ds []time.Duration) (total time.Duration) {
	for _, d := range ds {
		total += d
	}
	return total
}
