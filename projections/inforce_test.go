package projections

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

const ownPack = `pack: team/own
version: 1.0.0
facts: dk.facts/v1
rules:
  - id: own.no_make
    phase: gate
    effect: deny
    when: call.name == 'make'
    reason: no_make
`

func parsePack(t *testing.T, src string) *rules.Pack {
	p, err := rules.ParsePack("own.yaml", []byte(src))
	require.NoError(t, err)
	return p
}

// putBy records an activation as another program would: the operator's word about packs this one may not have.
func (p *Projector) putBy(t *testing.T, packs ...events.ActivePack) {
	last, err := p.lastActivation(t.Context())
	require.NoError(t, err)
	d, err := p.issuer.RulesActivated(events.Activation{Ruleset: "sha256:other", Packs: packs, By: byOperator, After: last.After})
	require.NoError(t, err)
	_, _, err = p.append(t.Context(), d)
	require.NoError(t, err)
}

func (p *Projector) install(t *testing.T, in events.PackInstalled) {
	d, err := p.issuer.PackInstalled(in)
	require.NoError(t, err)
	_, _, err = p.append(t.Context(), d)
	require.NoError(t, err)
}

func (p *Projector) names(t *testing.T) []string {
	set, err := p.Ruleset()
	require.NoError(t, err)
	var out []string
	for _, a := range set.Active() {
		out = append(out, a.Pack.Name)
	}
	return out
}

// A program with other default packs than the one that activated decides by its own, keeps the modes that were said of
// their rules, and takes what is new as well. A pack that was named by its digest stays as it was.
func TestNewerDefaultPacks(t *testing.T) {
	ctx, store := t.Context(), filepath.Join(t.TempDir(), "store")
	p, err := Open(ctx, store, Options{})
	require.NoError(t, err)
	own := parsePack(t, ownPack)
	p.install(t, own.Installed())
	p.putBy(t,
		events.ActivePack{
			Name: "dalkkak/core-gate", Digest: "sha256:of an older one", Default: true,
			Modes: map[string]string{"gate.installs": "shadow", "gate.gone": "off"},
		},
		events.ActivePack{Name: "team/own", Digest: own.Digest, Modes: map[string]string{"own.no_make": "shadow"}},
	)
	require.NoError(t, p.Close())
	p, err = Open(ctx, store, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"dalkkak/core-gate", "team/own", "dalkkak/core-judge"}, p.names(t))
	set, err := p.Ruleset()
	require.NoError(t, err)
	gate := set.Active()[0]
	require.Equal(t, rules.DefaultPacks()[0].Digest, gate.Pack.Digest, "this program's own")
	require.Equal(t, "shadow", gate.Mode(gate.Pack.Rule("gate.installs")))

	// The store records what it decides by, and that it rests on the operator's word: once.
	standing := p.standing
	require.NoError(t, p.activate(ctx))
	last, err := p.lastActivation(ctx)
	require.NoError(t, err)
	require.Equal(t, set.Digest(), last.Ruleset)
	require.Equal(t, standing, last.Standing)
	require.Empty(t, last.By)
	head := p.log.Head().Seq
	require.NoError(t, p.Close())
	p, err = Open(ctx, store, Options{})
	require.NoError(t, err)
	require.NoError(t, p.activate(ctx))
	require.Equal(t, head, p.log.Head().Seq)
	require.Equal(t, standing, p.standing)

	older := strings.Replace(ownPack, "team/own", "dalkkak/core-gate", 1)
	held := parsePack(t, older)
	p.install(t, held.Installed())
	p.putBy(t, events.ActivePack{Name: "dalkkak/core-gate", Digest: held.Digest}, events.ActivePack{Name: "dalkkak/core-judge", Default: true})
	require.NoError(t, p.Close())
	p, err = Open(ctx, store, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"dalkkak/core-gate", "dalkkak/core-judge"}, p.names(t))
	set, err = p.Ruleset()
	require.NoError(t, err)
	require.Equal(t, held.Digest, set.Packs()[0].Digest)
	require.NoError(t, p.Close())
}

// Rules in force that cannot be read stop every decision, and no reading; there is no falling back to fewer rules.
func TestRulesThatCannotBeReadDecideNothing(t *testing.T) {
	for name, in := range map[string]events.PackInstalled{
		"not installed":       {},
		"not understood":      {Name: "team/own", Digest: "sha256:x", Source: "pack: team/own\nfrom: the future\n"},
		"read as another one": {Name: "team/own", Digest: "sha256:x", Source: ownPack},
		"a rule twice":        {Name: "team/own", Digest: "", Source: strings.Replace(ownPack, "own.no_make", "gate.destructive", 1)},
	} {
		ctx, dir := t.Context(), t.TempDir()
		store, repo := filepath.Join(dir, "store"), t.TempDir()
		p, err := Open(ctx, store, Options{Roots: []string{repo}})
		require.NoError(t, err, name)
		if in.Source != "" {
			if in.Digest == "" {
				in.Digest = parsePack(t, in.Source).Digest
			}
			p.install(t, in)
		}
		p.putBy(t, events.ActivePack{Name: "dalkkak/core-gate", Default: true}, events.ActivePack{Name: "team/own", Digest: "sha256:x"})
		if name == "a rule twice" {
			p.putBy(t, events.ActivePack{Name: "dalkkak/core-gate", Default: true}, events.ActivePack{Name: "team/own", Digest: in.Digest})
		}
		require.NoError(t, p.Close())

		p, err = Open(ctx, store, Options{Roots: []string{repo}})
		require.NoError(t, err, name)
		line := `{"type":"assistant","uuid":"u","sessionId":"s","cwd":"` + repo + `","message":{"id":"m","role":"assistant","content":[{"type":"text","text":` +
			`"<dk-verify>{\"id\":\"t1\",\"claim\":\"x\",\"kind\":\"command\",\"verify\":\"true\"}</dk-verify>"}]}}` + "\n"
		got, err := p.Ingest(ctx, strings.NewReader(line), "s.jsonl")
		require.NoError(t, err, name)
		_, err = p.Verify(ctx, got.Claims, VerifyOptions{})
		require.ErrorIs(t, err, ErrRules, name)
		_, changed, err := p.Activate(ctx, Defaults())
		require.NoError(t, err, name)
		require.True(t, changed)
		results, err := p.Verify(ctx, got.Claims, VerifyOptions{})
		require.NoError(t, err, name)
		require.NotNil(t, results[0].Receipt)
		require.NoError(t, p.Close())
	}
}

// Rules of one call are recorded, so that what they decided can be decided again, and do not stay.
func TestRulesOfOneCall(t *testing.T) {
	ctx, store := t.Context(), filepath.Join(t.TempDir(), "store")
	own := parsePack(t, ownPack)
	p, err := Open(ctx, store, Options{Rules: []*rules.Pack{own}})
	require.NoError(t, err)
	require.NoError(t, p.activate(ctx))
	require.NoError(t, p.Close())
	p, err = Open(ctx, store, Options{Repo: []*rules.Pack{own}})
	require.NoError(t, err)
	require.NoError(t, p.activate(ctx))
	last, err := p.lastActivation(ctx)
	require.NoError(t, err)
	require.True(t, last.Packs[2].Tighten)
	require.NoError(t, p.Close())
	p, err = Open(ctx, store, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"dalkkak/core-gate", "dalkkak/core-judge"}, p.names(t))
	pack, err := p.packByDigest(ctx, own.Digest)
	require.NoError(t, err)
	require.Equal(t, own.Source, pack.Source)
	require.NoError(t, p.Close())
	_, err = Open(ctx, store, Options{Rules: []*rules.Pack{own, own}})
	require.ErrorIs(t, err, ErrRules)
}
