package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

func (a *app) rulesInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install FILE…",
		Short: "Keep rule packs in the store, sealed; they are not in force by that",
		Long: `install checks rule packs, runs their tests, and keeps their whole source in the log, so that whatever they decide can be
decided again without the file. dk rules activate puts them in force.

Exit status: 0 installed, or there already; 1 a pack has a fault; 2 something could not be done.`,
		Example: "  dk rules install team.yaml && dk rules activate team/own",
		Args:    needPack,
		RunE:    func(c *cobra.Command, args []string) error { return a.rulesInstall(c.Context(), args) },
	}
}

func needPack(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return withHint(errors.New("no pack named"), "dk rules check FILE")
	}
	return nil
}

func (a *app) rulesInstall(ctx context.Context, files []string) error {
	var packs []*rules.Pack
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		p, faults := checkPack(file, src, true)
		if faults.Errors() {
			if err := a.printFaults(faults); err != nil {
				return err
			}
			return negativeError{}
		}
		packs = append(packs, p)
	}
	p, err := a.open(ctx, projections.Options{})
	if err != nil {
		return err
	}
	for _, pack := range packs {
		added, ierr := p.Install(ctx, pack)
		if ierr != nil {
			return errors.Join(ierr, p.Close())
		}
		word := "is installed already"
		if added {
			word = "is installed"
		}
		a.err.printf("%s %s %s, %s\n", pack.Name, pack.Version, word, pack.Digest)
	}
	a.err.printf("dk rules activate %s puts it in force\n", packs[0].Name)
	return p.Close()
}

type activateFlags struct {
	modes            []string
	reset, noDefault bool
}

func (a *app) rulesActivateCommand() *cobra.Command {
	var f activateFlags
	c := &cobra.Command{
		Use:   "activate PACK…",
		Short: "Say which packs are in force from now on, and the mode of their rules",
		Long: `activate puts installed packs in force, from now on and in the place of those activated before; it is recorded, sealed. PACK
is the name of an installed pack (the newest of that name), or its digest or a beginning of that.

The default packs stay in force beside them, always as the program that decides brings them: a newer dk decides by its
newer default packs, and records that it does. Naming a default pack by its digest holds on to that one; --no-defaults
leaves them out.

A rule's mode is enforce (the default), shadow (evaluated and recorded, decides nothing) or off (not evaluated). A mode
is said of a rule's id, and of default packs too. What is not said again is enforced again.

Verdicts that were given stay as they are.`,
		Example: `  dk rules activate team/own --mode own.no_make=shadow
  dk rules activate team/own                  # all of its rules enforced
  dk rules activate --mode gate.installs=off  # the default packs alone, without this rule
  dk rules activate --reset                   # the default packs alone, all enforced`,
		RunE: func(c *cobra.Command, args []string) error { return a.rulesActivate(c.Context(), args, f) },
	}
	c.Flags().StringArrayVar(&f.modes, "mode", nil, "RULE=enforce|shadow|off (repeatable)")
	c.Flags().BoolVar(&f.reset, "reset", false, "go back to the default packs alone")
	c.Flags().BoolVar(&f.noDefault, "no-defaults", false, "leave out the default packs")
	return c
}

func (a *app) rulesActivate(ctx context.Context, names []string, f activateFlags) error {
	switch {
	case f.reset && len(names)+len(f.modes) > 0, f.reset && f.noDefault:
		return withHint(errors.New("--reset stands alone"), "dk rules activate --reset")
	case len(names) == 0 && !f.reset && len(f.modes) == 0:
		return withHint(errors.New("no pack named"), "dk rules list shows what is in force; dk rules activate --reset goes back to the default packs")
	}
	modes, err := parseModes(f.modes)
	if err != nil {
		return err
	}
	p, err := a.open(ctx, projections.Options{})
	if err != nil {
		return err
	}
	err = a.activate(ctx, p, names, modes, f.noDefault)
	return errors.Join(err, p.Close())
}

func (a *app) activate(ctx context.Context, p *projections.Projector, names []string, modes map[string]string, noDefault bool) error {
	var active []rules.Active
	if !noDefault {
		active = projections.Defaults()
	}
	installed, err := p.Installed(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if active, err = addPack(active, installed, name); err != nil {
			return err
		}
	}
	if err := setModes(active, modes); err != nil {
		return err
	}
	set, changed, err := p.Activate(ctx, active)
	switch {
	case err != nil:
		return withHint(err, "dk rules list shows what is in force")
	case changed:
		a.err.printf("in force from now on: %s, rule set %s\n", activeText(active), set.Digest())
	default:
		a.err.printf("in force already: %s, rule set %s\n", activeText(active), set.Digest())
	}
	return nil
}

func activeText(active []rules.Active) string {
	names := make([]string, len(active))
	for i, m := range active {
		names[i] = m.Pack.Name
	}
	return strings.Join(names, ", ")
}

// addPack adds the pack that name means. A default pack is there already, unless it is named by its digest.
func addPack(active []rules.Active, installed []projections.InstalledPack, name string) ([]rules.Active, error) {
	if slices.ContainsFunc(active, func(m rules.Active) bool { return m.Pack.Name == name }) {
		return active, nil
	}
	in, err := findInstalled(installed, name)
	if err != nil {
		return nil, err
	}
	pack, err := in.Parse()
	if err != nil {
		return nil, withHint(err, "install a version that this program understands: dk rules install FILE")
	}
	i := slices.IndexFunc(active, func(m rules.Active) bool { return m.Pack.Name == pack.Name })
	if i >= 0 && active[i].Default {
		active[i] = rules.Active{Pack: pack}
		return active, nil
	}
	return append(active, rules.Active{Pack: pack}), nil
}

// means reports whether what a person wrote is the name of a pack, or at least eight digits of its digest.
func means(said, name, digest string) bool {
	digits := strings.TrimPrefix(said, "sha256:")
	return said == name || (len(digits) >= 8 && strings.HasPrefix(strings.TrimPrefix(digest, "sha256:"), digits))
}

// findInstalled finds a pack by name, the newest, or by its digest.
func findInstalled(installed []projections.InstalledPack, name string) (projections.InstalledPack, error) {
	for _, in := range slices.Backward(installed) {
		if means(name, in.Name, in.Digest) {
			return in, nil
		}
	}
	return projections.InstalledPack{}, withHint(fmt.Errorf("no pack %s is installed", name), "dk rules install FILE")
}

func parseModes(words []string) (map[string]string, error) {
	modes := make(map[string]string)
	for _, w := range words {
		id, mode, ok := strings.Cut(w, "=")
		if !ok || !slices.Contains([]string{rules.ModeEnforce, rules.ModeShadow, rules.ModeOff}, mode) {
			return nil, withHint(fmt.Errorf("--mode %s: want RULE=enforce, RULE=shadow or RULE=off", w), "dk rules activate team/own --mode own.no_make=shadow")
		}
		modes[id] = mode
	}
	return modes, nil
}

// setModes gives each mode to the pack whose rule it is about.
func setModes(active []rules.Active, modes map[string]string) error {
	for id, mode := range modes {
		i := slices.IndexFunc(active, func(m rules.Active) bool { return m.Pack.Rule(id) != nil })
		if i < 0 {
			return withHint(fmt.Errorf("--mode %s: no pack that is named has such a rule", id), "dk rules list shows the rules in force")
		}
		if active[i].Modes == nil {
			active[i].Modes = make(map[string]string)
		}
		active[i].Modes[id] = mode
	}
	return nil
}

// inForce are the packs that verify would decide by: the store's, or the default packs when there is no store, and those
// of files.
func (a *app) inForce(ctx context.Context, files []string) ([]rules.Active, error) {
	active, err := a.standing(ctx)
	if err != nil {
		return nil, err
	}
	return withPacks(active, files)
}

func withPacks(active []rules.Active, files []string) ([]rules.Active, error) {
	packs, err := loadPacks(files)
	for _, p := range packs {
		active = append(active, rules.Active{Pack: p})
	}
	return active, err
}

func (a *app) standing(ctx context.Context) ([]rules.Active, error) {
	dir, err := a.storeDir()
	if err != nil || !projections.IsStore(dir) {
		return projections.Defaults(), nil // no store, or no place for one: nothing else is in force
	}
	p, err := a.open(ctx, projections.Options{})
	if err != nil {
		return nil, err
	}
	active, err := p.Standing(ctx)
	return active, errors.Join(err, p.Close())
}
