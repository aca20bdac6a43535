package projections

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dalkkak/dkgraph/events"
)

// An Anchor keeps checkpoints of a log somewhere that the account which runs agents should not be able to change. It may be
// called from one goroutine at a time.
type Anchor interface {
	// Name tells people what it is.
	Name() string
	// Latest returns the newest checkpoint kept, nil if there is none.
	Latest(ctx context.Context) ([]byte, error)
	// Keep keeps a checkpoint that extends the latest.
	Keep(ctx context.Context, signed []byte) error
}

// A FileAnchor is a file, such as one on another device or in a folder of another account.
type FileAnchor string

// Name implements Anchor.
func (a FileAnchor) Name() string { return "file " + string(a) }

// Latest implements Anchor.
func (a FileAnchor) Latest(context.Context) ([]byte, error) {
	signed, err := os.ReadFile(string(a))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return signed, err
}

// Keep implements Anchor. The file is replaced as a whole and synced.
func (a FileAnchor) Keep(_ context.Context, signed []byte) error {
	f, err := os.CreateTemp(filepath.Dir(string(a)), ".dk-*")
	if err != nil {
		return err
	}
	_, err = f.Write(signed)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), string(a))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// A GitAnchor is a branch of a git remote that holds the checkpoints as commits, one after the other. It is pushed without
// force, so that a remote which refuses rewrites keeps what it once had.
type GitAnchor struct {
	Remote string // what git push takes: an address or a path
	Branch string // dk-checkpoints by default
}

const gitAnchorFile = "checkpoint"

// Name implements Anchor.
func (a GitAnchor) Name() string { return "git " + a.Remote + " " + a.branch() }

func (a GitAnchor) branch() string {
	if a.Branch == "" {
		return "dk-checkpoints"
	}
	return a.Branch
}

// Latest implements Anchor.
func (a GitAnchor) Latest(ctx context.Context) ([]byte, error) {
	var signed []byte
	err := inScratch(func(dir string) error {
		head, err := a.fetch(ctx, dir)
		if err != nil || head == "" {
			return err
		}
		signed, err = git(ctx, dir, nil, "cat-file", "blob", head+":"+gitAnchorFile)
		return err
	})
	return signed, err
}

// Keep implements Anchor.
func (a GitAnchor) Keep(ctx context.Context, signed []byte) error {
	return inScratch(func(dir string) error {
		head, err := a.fetch(ctx, dir)
		if err != nil {
			return err
		}
		blob, err := git(ctx, dir, signed, "hash-object", "-w", "--stdin")
		if err != nil {
			return err
		}
		tree, err := git(ctx, dir, fmt.Appendf(nil, "100644 blob %s\t%s\n", bytes.TrimSpace(blob), gitAnchorFile), "mktree")
		if err != nil {
			return err
		}
		args := []string{"commit-tree", string(bytes.TrimSpace(tree)), "-m", "checkpoint"}
		if head != "" {
			args = append(args, "-p", head)
		}
		commit, err := git(ctx, dir, nil, args...)
		if err != nil {
			return err
		}
		_, err = git(ctx, dir, nil, "push", "--quiet", "--", a.Remote, string(bytes.TrimSpace(commit))+":refs/heads/"+a.branch())
		return err
	})
}

// fetch gets the branch into a repository of our own and returns its head, "" if the remote has no such branch yet.
func (a GitAnchor) fetch(ctx context.Context, dir string) (string, error) {
	if _, err := git(ctx, dir, nil, "init", "--quiet", "--bare", "."); err != nil {
		return "", err
	}
	refs, err := git(ctx, dir, nil, "ls-remote", "--heads", "--", a.Remote, "refs/heads/"+a.branch())
	if err != nil || len(bytes.TrimSpace(refs)) == 0 {
		return "", err
	}
	if _, err := git(ctx, dir, nil, "fetch", "--quiet", "--depth=1", "--", a.Remote, "refs/heads/"+a.branch()); err != nil {
		return "", err
	}
	head, err := git(ctx, dir, nil, "rev-parse", "FETCH_HEAD")
	return string(bytes.TrimSpace(head)), err
}

// inScratch gives f an empty folder: git is never run in a repository that an agent works in, whose settings can run code.
func inScratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "dk-anchor-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}

func git(ctx context.Context, dir string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	// The user's own settings stay, for a remote may need them; those of a repository around us do not.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") }),
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=dk", "GIT_AUTHOR_EMAIL=dk@localhost", "GIT_COMMITTER_NAME=dk", "GIT_COMMITTER_EMAIL=dk@localhost")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// Anchor signs the head of the log and keeps it in a, if the log extends what a kept last.
func (p *Projector) Anchor(ctx context.Context, a Anchor) (events.Tree, error) {
	if _, err := p.CheckAnchor(ctx, a); err != nil {
		return events.Tree{}, err
	}
	signed, err := p.Checkpoint()
	if err != nil {
		return events.Tree{}, err
	}
	if err := a.Keep(ctx, signed); err != nil {
		return events.Tree{}, fmt.Errorf("anchor %s: %w", a.Name(), err)
	}
	_, t, err := events.OpenCheckpoint(p.heads.vkey, signed)
	return t, err
}

// CheckAnchor compares the log with what a kept last; the zero tree if a has nothing.
func (p *Projector) CheckAnchor(ctx context.Context, a Anchor) (events.Tree, error) {
	signed, err := a.Latest(ctx)
	if err != nil {
		return events.Tree{}, fmt.Errorf("anchor %s: %w", a.Name(), err)
	}
	if signed == nil {
		return events.Tree{}, nil
	}
	t, err := p.Against(ctx, signed)
	if err != nil {
		return t, fmt.Errorf("anchor %s: %w", a.Name(), err)
	}
	return t, nil
}

// anchorLine is how an anchor is remembered, one JSON line each in the file anchors of the store.
type anchorLine struct {
	File   string `json:"file,omitempty"`
	Git    string `json:"git,omitempty"`
	Branch string `json:"branch,omitempty"`
}

const anchorsFile = "anchors"

// Anchors returns the anchors that the store remembers.
func (p *Projector) Anchors() ([]Anchor, error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, anchorsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Anchor
	for line := range bytes.Lines(raw) {
		var l anchorLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", anchorsFile, err)
		}
		if l.Git != "" {
			list = append(list, GitAnchor{Remote: l.Git, Branch: l.Branch})
		} else {
			list = append(list, FileAnchor(l.File))
		}
	}
	return list, err
}

// Remember adds an anchor to those that every audit compares the log with.
func (p *Projector) Remember(a Anchor) error {
	known, err := p.Anchors()
	if err != nil || slices.ContainsFunc(known, func(k Anchor) bool { return k.Name() == a.Name() }) {
		return err
	}
	var l anchorLine
	switch a := a.(type) {
	case FileAnchor:
		if l.File, err = filepath.Abs(string(a)); err != nil {
			return err
		}
	case GitAnchor:
		l.Git, l.Branch = a.Remote, a.Branch
	default:
		return fmt.Errorf("%s is no kind of anchor that can be remembered", a.Name())
	}
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(p.dir, anchorsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
