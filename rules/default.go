package rules

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"
)

//go:embed packs/*.yaml
var packFiles embed.FS

// DefaultPacks returns the packs that come with the program: core-gate and core-judge.
func DefaultPacks() []*Pack { return defaultPacks() }

var defaultPacks = sync.OnceValue(func() []*Pack {
	names, err := fs.Glob(packFiles, "packs/*.yaml")
	if err != nil {
		panic("internal error: " + err.Error())
	}
	packs := make([]*Pack, len(names))
	for i, name := range names {
		src, err := fs.ReadFile(packFiles, name)
		if err == nil {
			packs[i], err = ParsePack(name, src)
		}
		if err != nil {
			panic(fmt.Sprintf("internal error: default pack: %v", err)) // a test loads them
		}
	}
	return packs
})
