package projections

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/dalkkak/dkgraph/rules"
)

// repoRules is where a repository keeps rule packs of its own.
const repoRules = ".dk/rules"

// maxRepoPacks bounds how many packs a repository brings.
const maxRepoPacks = 8

// RepoPacks reads the rule packs in .dk/rules of a folder. An agent can write there, so a pack that could allow, excuse
// or hide anything is an error, and so is a file that leads out of the folder. A folder without any gives none.
func RepoPacks(dir string) ([]*rules.Pack, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), repoRules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(repoRules, e.Name()))
		}
	}
	slices.Sort(names)
	if len(names) > maxRepoPacks {
		return nil, fmt.Errorf("%s in %s holds %d packs, the limit is %d", repoRules, dir, len(names), maxRepoPacks)
	}
	packs := make([]*rules.Pack, len(names))
	for i, name := range names {
		if packs[i], err = readRepoPack(root, name); err != nil {
			return nil, err
		}
	}
	return packs, nil
}

func readRepoPack(root *os.Root, name string) (*rules.Pack, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would never end
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, rules.MaxPackBytes+1))
	if err != nil {
		return nil, err
	}
	pack, err := rules.ParsePack(name, src)
	if err != nil {
		return nil, err
	}
	return pack, pack.Tightens()
}
