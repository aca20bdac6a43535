package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/badgerlog"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections/internal/issuer"
	"github.com/dalkkak/dkgraph/projections/internal/runner"
	"github.com/dalkkak/dkgraph/rules"
)

// Errors of a store.
var (
	// ErrInUse: another process has the store open.
	ErrInUse = badgerlog.ErrInUse
	// ErrStoreInRoot: the store lies in a folder in which commands may run, or the other way round.
	ErrStoreInRoot = errors.New("a store cannot lie where commands may run: they could read its key")
	// ErrNotStore: the folder holds other things, and no store.
	ErrNotStore = errors.New("not a store")
	// ErrLost: the graph has seen events that the log no longer holds.
	ErrLost = errors.New("the log has lost events")
	// ErrKey: the sealing key is missing, open to others, or not this log's. Reading works without it.
	ErrKey = issuer.ErrKey
)

// Options of a Projector. The zero value reads; Roots are needed to run anything.
type Options struct {
	Roots   []string         // folders in which commands may be run and files looked at
	Rules   []*rules.Pack    // in force besides those that the store has in force, as long as it is open
	Repo    []*rules.Pack    // likewise, from where an agent can write: they can only tighten
	Timeout time.Duration    // of one run; 0 is a default by the kind of the claim
	Now     func() time.Time // the clock for recorded times; nil is time.Now
	Environ []string         // what runs may take variables from, by an allow-list; nil is this process's own
}

// A Projector has a store open.
type Projector struct {
	dir    string
	log    *events.Log
	graph  *graph.Graph
	roots  []string
	opts   Options
	hashes runner.Hashes

	heads  checkpoints
	issuer *events.Issuer // nil without a usable key
	noKey  error          // why

	mu sync.Mutex // held while appending and folding: the graph never lags behind what was appended

	judging  sync.Mutex // guards below; held while a claim is verified, its run included
	set      *rules.Ruleset
	noSet    error  // why there is none
	standing uint64 // the operator's activation that set rests on; 0 is none
	active   bool   // the rule set is known to be the one in force
}

// Open opens the store in dir, and creates it if there is none. The graph is brought up to the log.
func Open(ctx context.Context, dir string, opts Options) (*Projector, error) {
	p := &Projector{dir: dir, opts: opts}
	var err error
	if p.roots, err = grantedRoots(opts.Roots, dir); err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	if err := p.openLog(ctx); err != nil {
		return nil, err
	}
	if err := p.openGraph(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if p.takeRules(ctx); p.noSet != nil && len(opts.Rules)+len(opts.Repo) > 0 {
		return nil, errors.Join(p.noSet, p.Close()) // whoever brings rules is about to decide by them
	}
	return p, nil
}

// IsStore reports whether dir is, or was, a store: whether opening it to read makes sense.
func IsStore(dir string) bool {
	for _, name := range []string{filepath.Join("log", "MANIFEST"), checkpointFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// checkFolder makes the folder of a store, and keeps a store from being made among other things.
func checkFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if IsStore(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if left, err := os.ReadDir(filepath.Join(dir, "log")); err == nil && len(left) > 0 {
		return fmt.Errorf("%w: %s holds %s", ErrNotStore, filepath.Join(dir, "log"), left[0].Name())
	}
	for _, e := range entries {
		if !slices.Contains([]string{"graph", "keys", checkpointFile, previousFile, anchorsFile}, e.Name()) &&
			e.Name() != "log" && !strings.HasPrefix(e.Name(), "log.") {
			return fmt.Errorf("%w: %s holds %s and no log", ErrNotStore, dir, e.Name())
		}
	}
	return nil
}

// grantedRoots makes roots absolute. A store that lies within one is refused: a claimed command could read its key.
func grantedRoots(roots []string, store string) ([]string, error) {
	out := make([]string, len(roots))
	for i, r := range roots {
		var err error
		if out[i], err = filepath.Abs(r); err != nil {
			return nil, err
		}
		if info, err := os.Stat(out[i]); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("root %s: %w", r, cmp.Or(err, errors.New("not a folder")))
		}
		if real := realPath(store); within(realPath(out[i]), real) || within(real, realPath(out[i])) {
			return nil, fmt.Errorf("%w: store %s, root %s", ErrStoreInRoot, store, r)
		}
	}
	return out, nil
}

// realPath follows the symlinks of as much of a path as there is.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func (p *Projector) graphDir() string { return filepath.Join(p.dir, "graph") }

// openLog opens the log, or creates it together with its key.
func (p *Projector) openLog(ctx context.Context) error {
	b, err := badgerlog.Open(filepath.Join(p.dir, "log"))
	if err != nil {
		return err
	}
	p.heads = checkpoints{dir: p.dir}
	opts := events.Options{Now: p.opts.Now, Committed: p.heads.committed}
	p.log, err = events.Open(ctx, b, opts)
	if errors.Is(err, events.ErrEmptyLog) {
		p.log, err = p.create(ctx, b, opts)
	}
	if err == nil {
		err = p.openKey(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store %s: %w", p.dir, err), b.Close())
	}
	return nil
}

func (p *Projector) create(ctx context.Context, b events.Backend, opts events.Options) (*events.Log, error) {
	for _, left := range []string{p.graphDir(), p.heads.path(checkpointFile)} {
		if _, err := os.Stat(left); err == nil {
			return nil, fmt.Errorf("%w: it is empty, and there is a %s made from one", ErrLost, filepath.Base(left))
		}
	}
	key, err := issuer.Create(p.dir)
	if err != nil {
		return nil, err
	}
	return events.Create(ctx, b, events.NewOrigin(time.Now()), key.Public(), opts)
}

// openKey checks the log against the last head that was signed, and loads the key. Without a key a store can be read and
// added to, but nothing is sealed and no head is signed.
func (p *Projector) openKey(ctx context.Context) error {
	var err error
	if p.heads.vkey, err = p.log.VerifierKey(); err != nil {
		return err
	}
	if err := p.extends(ctx); err != nil {
		return err
	}
	key, err := issuer.Load(p.dir)
	if err == nil {
		p.issuer, err = key.For(p.log)
	}
	if err != nil {
		p.noKey = err
		return nil
	}
	p.heads.sign = p.issuer.Checkpoint
	return nil
}

func (p *Projector) openGraph(ctx context.Context) error {
	var err error
	if p.graph, err = graph.Open(p.graphDir(), p.log.Origin()); err != nil {
		return err
	}
	if seen, end := p.graph.Seq(), p.log.Head().Seq; seen > end {
		return fmt.Errorf("store %s: %w: the graph has seen event %d, the log ends at %d", p.dir, ErrLost, seen, end)
	}
	return p.catchUp(ctx)
}

// catchUp folds what the log holds and the graph has not seen.
func (p *Projector) catchUp(ctx context.Context) error { return foldInto(ctx, p.log, p.graph) }

func foldInto(ctx context.Context, log *events.Log, g *graph.Graph) error {
	if g.Seq() == log.Head().Seq {
		return nil
	}
	for rec, err := range log.Read(ctx, g.Seq()+1) {
		if err != nil {
			return err
		}
		if err := g.Apply(rec); err != nil {
			return err
		}
	}
	return nil
}

// append records drafts and folds them.
func (p *Projector) append(ctx context.Context, drafts ...events.Draft) ([]events.Record, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	recs, added, err := p.log.Append(ctx, drafts...)
	if err != nil {
		return nil, 0, err
	}
	if added == 0 {
		return recs, 0, nil
	}
	return recs, added, p.catchUp(ctx)
}

// seal returns the issuer, or why there is none.
func (p *Projector) seal() (*events.Issuer, error) {
	if p.issuer == nil {
		return nil, p.noKey
	}
	return p.issuer, nil
}

// Log returns the event log.
func (p *Projector) Log() *events.Log { return p.log }

// Graph returns the memory graph.
func (p *Projector) Graph() *graph.Graph { return p.graph }

// Close closes the store. Views of the graph must be closed before.
func (p *Projector) Close() error {
	var errs []error
	if p.graph != nil {
		errs = append(errs, p.graph.Close())
	}
	if p.log != nil {
		errs = append(errs, p.log.Close(), p.heads.wrote) // the log's writer has ended
	}
	return errors.Join(errs...)
}
