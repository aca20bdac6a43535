package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
	"github.com/dalkkak/dkgraph/rules"
)

// storeDir finds the store: the flag, the environment, the user's data folder.
func (a *app) storeDir() (string, error) {
	if a.store != "" {
		return a.store, nil
	}
	if dir := os.Getenv("DK_STORE"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "dk"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", withHint(err, "say where the store is with --store DIR")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "dk"), nil
	}
	return filepath.Join(home, ".local", "share", "dk"), nil
}

func defaultStoreHelp() string {
	if runtime.GOOS == "darwin" {
		return "~/Library/Application Support/dk"
	}
	return "~/.local/share/dk"
}

// One process has a store open at a time; another waits for it so long, looking so often.
const (
	lockWait  = 10 * time.Second
	lockRetry = 20 * time.Millisecond
)

// open opens the store, and creates it on first use. It waits a while for another dk to be done with it.
func (a *app) open(ctx context.Context, opts projections.Options) (*projections.Projector, error) {
	dir, err := a.storeDir()
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for end := time.Now().Add(lockWait); ; {
		p, err := projections.Open(ctx, dir, opts)
		if !errors.Is(err, projections.ErrInUse) || time.Now().After(end) {
			return p, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// read opens a store that must be there already, and gives a view of it.
func (a *app) read(ctx context.Context, f func(p *projections.Projector, v *graph.View) error) error {
	dir, err := a.storeDir()
	if err != nil {
		return err
	}
	if !projections.IsStore(dir) {
		return withHint(errors.New("there is no store in "+dir), "dk verify TRANSCRIPT makes one; dk demo shows how it works")
	}
	p, err := a.open(ctx, projections.Options{})
	if err != nil {
		return err
	}
	v := p.Graph().View()
	err = f(p, v)
	v.Close()
	return errors.Join(err, p.Close())
}

// loadPacks reads rule packs that the operator names.
func loadPacks(files []string) ([]*rules.Pack, error) {
	packs := make([]*rules.Pack, len(files))
	for i, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, withHint(err, "--rules names a rule pack, a YAML file; dk rules check FILE checks one")
		}
		if packs[i], err = rules.ParsePack(file, src); err != nil {
			return nil, withHint(err, "dk rules check %s", file)
		}
	}
	return packs, nil
}
