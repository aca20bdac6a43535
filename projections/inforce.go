package projections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules"
)

// byOperator marks the activations that a person made.
const byOperator = "operator"

// ErrRules: the rules in force cannot be put together. Nothing is decided until they can; reading works.
var ErrRules = errors.New("the rules in force cannot be used")

// Ruleset returns the rules that new claims are decided by, or why there are none. It waits for a claim that is being
// verified.
func (p *Projector) Ruleset() (*rules.Ruleset, error) {
	p.judging.Lock()
	defer p.judging.Unlock()
	return p.set, p.noSet
}

// takeRules works out the rules in force: the operator's last activation, read from the log, or the default packs; then
// those of the options. It never falls back to less than what was activated.
func (p *Projector) takeRules(ctx context.Context) {
	p.set, p.noSet = nil, nil
	active, seq, err := p.standingPacks(ctx)
	if err == nil {
		p.standing = seq
		for _, pack := range p.opts.Rules {
			active = append(active, rules.Active{Pack: pack})
		}
		for _, pack := range p.opts.Repo {
			active = append(active, rules.Active{Pack: pack, Tighten: true})
		}
		p.set, err = rules.Activate(active...)
	}
	if err != nil {
		p.noSet = fmt.Errorf("%w: %w", ErrRules, err)
	}
}

// Standing returns the packs that the store has in force, without those of the options.
func (p *Projector) Standing(ctx context.Context) ([]rules.Active, error) {
	active, _, err := p.standingPacks(ctx)
	return active, err
}

// standingPacks returns the packs that the store has in force, and the operator's activation that says so, 0 if none does.
func (p *Projector) standingPacks(ctx context.Context) ([]rules.Active, uint64, error) {
	a, err := p.lastActivation(ctx)
	if err == nil && a.By != byOperator && a.Standing != 0 {
		a, err = p.activationAt(ctx, a.Standing)
	}
	if err != nil {
		return nil, 0, err
	}
	if a.By != byOperator {
		return Defaults(), 0, nil
	}
	active, err := p.packsOf(ctx, a)
	return active, a.After, err
}

// Defaults are the packs that came with the program, as they are in force when nobody says otherwise.
func Defaults() []rules.Active {
	var out []rules.Active
	for _, pack := range rules.DefaultPacks() {
		out = append(out, rules.Active{Pack: pack, Default: true})
	}
	return out
}

// packsOf reads the packs of an operator's activation. A default pack is the one of this program, newer or not; one that
// was named by its digest is read from the log. Default packs that the activation does not know come in force as well,
// unless it has none of them.
func (p *Projector) packsOf(ctx context.Context, a events.Activation) ([]rules.Active, error) {
	var out []rules.Active
	defaults, follows := Defaults(), false
	for _, ap := range a.Packs {
		m := rules.Active{Modes: ap.Modes, Default: ap.Default, Tighten: ap.Tighten}
		follows = follows || ap.Default
		i := slices.IndexFunc(defaults, func(d rules.Active) bool { return d.Pack.Name == ap.Name })
		if i >= 0 {
			m.Pack = defaults[i].Pack
			defaults = slices.Delete(defaults, i, i+1)
		}
		if i < 0 || !ap.Default {
			var err error
			if m.Pack, err = p.packByDigest(ctx, ap.Digest); err != nil {
				return nil, fmt.Errorf("pack %s: %w", ap.Name, err)
			}
		}
		out = append(out, m)
	}
	if follows {
		out = append(out, defaults...)
	}
	return out, nil
}

// packByDigest compiles the source that the log keeps of a pack.
func (p *Projector) packByDigest(ctx context.Context, digest string) (*rules.Pack, error) {
	v := p.graph.View()
	seq := v.Pack(digest)
	v.Close()
	if seq == 0 {
		return nil, fmt.Errorf("%s is not installed", digest)
	}
	in, err := p.installedAt(ctx, seq)
	if err != nil {
		return nil, err
	}
	return in.Parse()
}

// An InstalledPack is the source of a rule pack in the log.
type InstalledPack struct {
	events.PackInstalled
	Seq uint64
}

// Parse compiles the pack.
func (in InstalledPack) Parse() (*rules.Pack, error) {
	pack, err := rules.ParsePack(in.Name, []byte(in.Source))
	if err == nil && pack.Digest != in.Digest {
		err = fmt.Errorf("event %d: this program reads it as %s, and it was installed as %s", in.Seq, pack.Digest, in.Digest)
	}
	return pack, err
}

func (p *Projector) installedAt(ctx context.Context, seq uint64) (InstalledPack, error) {
	rec, err := p.log.Get(ctx, seq)
	if err != nil {
		return InstalledPack{}, err
	}
	in, err := events.Decode[events.PackInstalled](rec)
	return InstalledPack{in, seq}, err
}

// Installed returns the packs that the log holds, oldest first.
func (p *Projector) Installed(ctx context.Context) ([]InstalledPack, error) {
	v := p.graph.View()
	seqs, err := v.Packs()
	v.Close()
	if err != nil {
		return nil, err
	}
	out := make([]InstalledPack, len(seqs))
	for i, seq := range seqs {
		if out[i], err = p.installedAt(ctx, seq); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Install keeps the source of a pack in the log, sealed. It is not in force by that. added is false if it was there.
func (p *Projector) Install(ctx context.Context, pack *rules.Pack) (added bool, err error) {
	seal, err := p.seal()
	if err != nil {
		return false, err
	}
	d, err := seal.PackInstalled(pack.Installed())
	if err != nil {
		return false, err
	}
	_, n, err := p.append(ctx, d)
	return n > 0, err
}

// Activate puts packs in force from now on, in the place of those that were: the operator's word, sealed. It returns the
// rule set, and whether anything changed.
func (p *Projector) Activate(ctx context.Context, active []rules.Active) (*rules.Ruleset, bool, error) {
	p.judging.Lock()
	defer p.judging.Unlock()
	set, err := rules.Activate(active...)
	if err != nil {
		return nil, false, err
	}
	a := set.Activation()
	a.By = byOperator
	last, err := p.lastActivation(ctx)
	if err != nil {
		return nil, false, err
	}
	if last.By == byOperator && samePacks(last.Packs, a.Packs) {
		return set, false, nil
	}
	a.After = last.After
	if err := p.putInForce(ctx, set, a); err != nil {
		return nil, false, err
	}
	p.active = false
	p.takeRules(ctx)
	return set, true, p.noSet
}

func samePacks(a, b []events.ActivePack) bool {
	return slices.EqualFunc(a, b, func(x, y events.ActivePack) bool {
		return x.Digest == y.Digest && x.Default == y.Default && x.Tighten == y.Tighten && maps.Equal(x.Modes, y.Modes)
	})
}

// activate makes sure that the log holds the rules in force, so that every decision can be made again from it alone.
func (p *Projector) activate(ctx context.Context) error {
	if p.noSet != nil {
		return p.noSet
	}
	if p.active {
		return nil
	}
	last, err := p.lastActivation(ctx)
	if err != nil {
		return err
	}
	if last.Ruleset != p.set.Digest() {
		a := p.set.Activation()
		a.After, a.Standing = last.After, p.standing
		if err := p.putInForce(ctx, p.set, a); err != nil {
			return err
		}
	}
	p.active = true
	return nil
}

// putInForce keeps the packs of a rule set, and then the activation that names them.
func (p *Projector) putInForce(ctx context.Context, set *rules.Ruleset, a events.Activation) error {
	seal, err := p.seal()
	if err != nil {
		return err
	}
	for _, pack := range set.Packs() {
		if _, err := p.Install(ctx, pack); err != nil {
			return err
		}
	}
	d, err := seal.RulesActivated(a)
	if err != nil {
		return err
	}
	_, _, err = p.append(ctx, d)
	return err
}

// lastActivation returns the last activation; its After is its own sequence number, 0 if there is none.
func (p *Projector) lastActivation(ctx context.Context) (events.Activation, error) {
	v := p.graph.View()
	seq := v.LastActivation()
	v.Close()
	if seq == 0 {
		return events.Activation{}, nil
	}
	return p.activationAt(ctx, seq)
}

func (p *Projector) activationAt(ctx context.Context, seq uint64) (events.Activation, error) {
	rec, err := p.log.Get(ctx, seq)
	if err != nil {
		return events.Activation{}, err
	}
	a, err := events.Decode[events.Activation](rec)
	a.After = seq
	return a, err
}
