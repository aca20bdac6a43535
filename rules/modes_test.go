package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

func activate(t *testing.T, active ...rules.Active) *rules.Ruleset {
	s, err := rules.Activate(active...)
	require.NoError(t, err)
	return s
}

// A rule in shadow is recorded and decides nothing; one that is off is not even evaluated.
func TestModes(t *testing.T) {
	const errs = "command.calls[99].name == 'x'"
	for _, c := range []struct {
		name, rule string
		decides    bool // when it is enforced
	}{
		{"a deny", "gate deny call.name == 'go'", true},
		{"an error", "gate deny " + errs, true},
	} {
		p := pack(t, "p", c.rule, "gate allow call.name == 'go'")
		f := factsOf("command", "go vet", "")
		enforced := activate(t, rules.Active{Pack: p})
		shadow := activate(t, rules.Active{Pack: p, Modes: map[string]string{"p.r0": rules.ModeShadow}})
		off := activate(t, rules.Active{Pack: p, Modes: map[string]string{"p.r0": rules.ModeOff}})
		require.False(t, enforced.Gate(f).Allow, c.name)
		d := shadow.Gate(f)
		require.True(t, d.Allow, c.name)
		require.Len(t, d.Rules, 2)
		require.Equal(t, "p.r0", d.Rules[0].Rule)
		require.Equal(t, "shadow", d.Rules[0].Mode)
		require.NotContains(t, d.Why, "p.r0")
		d = off.Gate(f)
		require.True(t, d.Allow, c.name)
		require.Len(t, d.Rules, 1)
		require.NotEqual(t, enforced.Digest(), shadow.Digest())
		require.NotEqual(t, off.Digest(), shadow.Digest())
	}
	p := pack(t, "p", "gate allow call.name == 'go'")
	d := activate(t, rules.Active{Pack: p, Modes: map[string]string{"p.r0": rules.ModeShadow}}).Gate(factsOf("command", "go vet", ""))
	require.Equal(t, "no_allow", d.Reason, "an allow in shadow allows nothing")
}

func TestModesOfTheJudge(t *testing.T) {
	p := pack(t, "p", "judge require run.exit == 0", "judge fail run.exit == 0", "judge inconclusive run.exit == 0", "judge require run.tests.run > 0")
	f := factsOf("command", "go vet", "").With(events.Run{Check: "command"})
	j := activate(t, rules.Active{Pack: p, Modes: map[string]string{
		"p.r1": rules.ModeShadow, "p.r2": rules.ModeShadow, "p.r3": rules.ModeShadow,
	}}).Judge(f)
	require.Equal(t, events.Verified, j.Verdict, "what would fail, excuse or err is in shadow: %+v", j)
	require.Len(t, j.Rules, 4)
	require.Equal(t, []string{"p.r0"}, events.Receipt{Verdict: j.Verdict, Reason: j.Reason, Rules: j.Rules}.Deciding())
	j = activate(t, rules.Active{Pack: p, Modes: map[string]string{
		"p.r0": rules.ModeShadow, "p.r1": rules.ModeOff, "p.r2": rules.ModeOff, "p.r3": rules.ModeOff,
	}}).Judge(f)
	require.Equal(t, "no_evidence_required", j.Reason, "a require in shadow proves nothing")
}

// A mode that says nothing changes nothing, and one that is none is refused.
func TestModesInTheDigest(t *testing.T) {
	p := pack(t, "p", "gate allow call.name == 'go'")
	plain := set(t, p).Digest()
	require.Equal(t, plain, activate(t, rules.Active{Pack: p, Modes: map[string]string{"p.r0": rules.ModeEnforce, "gone": rules.ModeOff}}).Digest())
	_, err := rules.Activate(rules.Active{Pack: p, Modes: map[string]string{"p.r0": "maybe"}})
	require.ErrorContains(t, err, `mode "maybe" of rule p.r0`)
}

// What an agent can write proves nothing: a require of its own that is met is no evidence.
func TestPacksOfTheRepositoryOnlyTighten(t *testing.T) {
	own := pack(t, "own", "gate allow true")
	f := factsOf("command", "go vet", "").With(events.Run{Check: "command"})
	met := pack(t, "repo", "judge require run.exit == 0")
	require.Equal(t, "as_claimed", activate(t, rules.Active{Pack: own}, rules.Active{Pack: met}).Judge(f).Reason)
	held := activate(t, rules.Active{Pack: own}, rules.Active{Pack: met, Tighten: true})
	require.Equal(t, "no_evidence_required", held.Judge(f).Reason)
	require.NotEqual(t, activate(t, rules.Active{Pack: own}, rules.Active{Pack: met}).Digest(), held.Digest())
	notMet := pack(t, "repo", "judge require run.exit == 1")
	require.Equal(t, events.Failed, activate(t, rules.Active{Pack: own}, rules.Active{Pack: notMet, Tighten: true}).Judge(f).Verdict)
	for _, line := range []string{"gate allow true", "judge inconclusive true"} {
		p := pack(t, "repo", line)
		require.ErrorContains(t, p.Tightens(), "repo.yaml:5:10: repo.r0: effect ")
		_, err := rules.Activate(rules.Active{Pack: own}, rules.Active{Pack: p, Tighten: true})
		require.ErrorContains(t, err, "can only tighten")
	}
}
