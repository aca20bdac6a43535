package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

// addLogVerbs adds what can be done with a log besides printing it.
func (a *app) addLogVerbs(c *cobra.Command) {
	c.AddCommand(
		a.logCheckpointCommand(), a.logKeyCommand(), a.logProveCommand(), a.logCheckProofCommand(), a.logExportCommand(), a.logImportCommand(),
		a.logAnchorCommand(), a.logAcceptLossCommand(),
	)
}

func (a *app) logCheckpointCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Print a signed checkpoint of the log",
		Long: `checkpoint prints the signed head of the log (c2sp tlog-checkpoint format). Keep it where the account that runs agents cannot
write: dk audit --against FILE tells later whether the log was cut back or rewritten since.`,
		Example: "  dk log checkpoint --out /mnt/usb/dk.checkpoint",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				signed, err := p.Checkpoint()
				if err != nil {
					return err
				}
				return a.writeOut(out, func(w io.Writer) error { _, err := w.Write(signed); return err })
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default stdout)")
	return c
}

func (a *app) logAnchorCommand() *cobra.Command {
	var file, remote string
	c := &cobra.Command{
		Use:   "anchor",
		Short: "Keep a signed checkpoint elsewhere, and compare with it in every audit",
		Long: `anchor signs the head of the log and keeps it in a file (on another device, in a folder of another account) or on a branch of a
git remote, where the account that runs agents cannot rewrite it. The store remembers its anchors; dk audit compares the log
with each of them. Without flags the checkpoint is kept in all that are remembered. A log that does not extend what an anchor
kept is never anchored over it.`,
		Example: "  dk log anchor --file /mnt/usb/shop.checkpoint\n  dk log anchor --git git@example.com:me/anchors.git\n  dk log anchor",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				return a.anchor(c, p, file, remote)
			})
		},
	}
	c.Flags().StringVar(&file, "file", "", "path of a file")
	c.Flags().StringVar(&remote, "git", "", "git remote; the branch is dk-checkpoints")
	return c
}

func (a *app) anchor(c *cobra.Command, p *projections.Projector, file, remote string) error {
	var list []projections.Anchor
	if file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		list = append(list, projections.FileAnchor(abs))
	}
	if remote != "" {
		list = append(list, projections.GitAnchor{Remote: remote})
	}
	if len(list) == 0 {
		var err error
		if list, err = p.Anchors(); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return withHint(errors.New("this store has no anchors yet"), "dk log anchor --file PATH, or --git REMOTE")
	}
	for _, anchor := range list {
		t, err := p.Anchor(c.Context(), anchor)
		if err != nil {
			return err
		}
		if err := p.Remember(anchor); err != nil {
			return err
		}
		a.out.printf("%s: %s\n", clean(anchor.Name()), plural(int(t.Size), "event"))
	}
	return nil
}

func (a *app) logAcceptLossCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accept-loss",
		Short: "Go on with what is left of a log that was damaged or cut back",
		Long: `accept-loss makes a store usable again whose log ends before events that it is known to have had. What is missing stays missing;
the files as they were found are kept beside it, the old checkpoints as checkpoint.lost. A log with a hole, or with an event
that was changed, is not accepted: restore it from a backup. Anchors go on saying that the log was cut back.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := a.storeDir()
			if err != nil {
				return err
			}
			end, err := projections.AcceptLoss(c.Context(), dir)
			if err == nil {
				a.err.printf("%s: the log goes on after event %d\n", clean(dir), end)
			}
			return err
		},
	}
}

func (a *app) logKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that checkpoints and proofs of this log verify with",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				key, err := p.Log().VerifierKey()
				if err == nil {
					a.out.printf("%s\n", key)
				}
				return err
			})
		},
	}
}

func (a *app) logProveCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "prove ID",
		Short: "Make a file that proves one receipt, or any event, without the store",
		Long: `prove writes the event of a receipt (or of any node, or an event as #N) with the proof that it is in the log and the signed
checkpoint of the log. dk log check-proof checks it anywhere.`,
		Example: "  dk log prove t1 --out t1.proof\n  dk log check-proof t1.proof --key \"$(dk log key)\"",
		Args:    needID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(p *projections.Projector, v *graph.View) error {
				seq, err := provable(v, args[0])
				if err != nil {
					return err
				}
				f, err := p.Prove(c.Context(), seq)
				if err != nil {
					return err
				}
				return a.writeOut(out, func(w io.Writer) error {
					enc := json.NewEncoder(w)
					enc.SetEscapeHTML(false)
					enc.SetIndent("", "  ")
					return enc.Encode(f)
				})
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default stdout)")
	return c
}

// provable is the event that a person means: of a claim, the receipt that counts for it.
func provable(v *graph.View, ref string) (uint64, error) {
	var seq uint64
	if n, err := fmt.Sscanf(ref, "#%d", &seq); n == 1 && err == nil {
		return seq, nil
	}
	n, err := resolve(v, ref)
	if err != nil {
		return 0, err
	}
	if n.Kind == graph.KindClaim {
		if r, err := v.Receipt(n.ID); err == nil {
			return r.Seq, nil
		}
	}
	return n.Seq, nil
}

func (a *app) logCheckProofCommand() *cobra.Command {
	var key string
	c := &cobra.Command{
		Use:   "check-proof FILE",
		Short: "Check a proof file, with no store at hand",
		Long: `check-proof checks that the event in a proof file is in the log of a key that you trust (dk log key prints it where the store
is; get it from there, not from the file). It says what the event is.

Exit status: 0 it is proven, 1 it is not, 2 the file could not be read.`,
		Example: "  dk log check-proof t1.proof --key dkgraph/01KBB…+1a2b3c4d+AT…",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || key == "" {
				return withHint(errors.New("name one file, and the key you trust with --key"), "dk log key prints the key where the store is")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.checkProof(args[0], key) },
	}
	c.Flags().StringVar(&key, "key", "", "the log's public key")
	return c
}

func (a *app) checkProof(file, key string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var f projections.ProofFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return fmt.Errorf("%s is no proof file: %w", file, err)
	}
	if err := f.Check(key); err != nil {
		a.out.printf("%s\n", a.out.paint(red, "✗ "+clean(err.Error())))
		return negativeError{}
	}
	a.out.printf("%s event %d is in the log of that key, as of %d events\n", a.out.paint(green, "✓"), f.Proof.Seq, f.Proof.Tree.Size)
	var e struct {
		Kind    events.Kind     `json:"kind"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal([]byte(f.Event), &e); err == nil {
		a.out.printf("  %s  %s\n", clean(string(e.Kind)), summary(e.Kind, e.Payload))
	}
	return nil
}

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the whole store to a file",
		Long: `backup writes the whole log to a file, which appears when it is whole: what dk log export writes. The graph follows from the log.
The sealing key (keys/seal.key in the store) is not in it; keep it apart, and out of reach of agents.`,
		Example: "  dk backup /mnt/usb/dk-2026-11-30.jsonl",
		Args:    needFile,
		RunE: func(c *cobra.Command, args []string) error {
			return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				err := a.writeOut(args[0], func(w io.Writer) error { return p.Export(c.Context(), w, 1, 0) })
				if err == nil {
					a.err.printf("%s: %s\n", clean(args[0]), plural(int(p.Log().Head().Seq), "event"))
				}
				return err
			})
		},
	}
}

func needFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return withHint(errors.New("name one file"), "dk backup FILE, and dk restore FILE back")
	}
	return nil
}

func (a *app) restoreCommand() *cobra.Command {
	c := a.logImportCommand()
	c.Use, c.Short = "restore FILE", "Make a store out of a backup"
	c.Example = "  dk --store new restore dk-2026-11-30.jsonl --key-file old/keys/seal.key"
	c.Args = needFile
	return c
}

func (a *app) logExportCommand() *cobra.Command {
	var out string
	var from, to uint64
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the log, or a part of it, as JSON Lines with a signed checkpoint",
		Long: `export writes the lines of the log as they are stored, and a last line that ties them to a signed checkpoint. Any language can
check it with a JSON parser, SHA-256 and Ed25519. A whole export is a backup: dk log import makes a store of it.`,
		Example: "  dk log export --out dk.jsonl\n  dk log export --from 100 --to 200",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				return a.writeOut(out, func(w io.Writer) error { return p.Export(c.Context(), w, from, to) })
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default stdout)")
	c.Flags().Uint64Var(&from, "from", 1, "first event")
	c.Flags().Uint64Var(&to, "to", 0, "last event (0: the end)")
	return c
}

func (a *app) logImportCommand() *cobra.Command {
	var keyFile string
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a store out of a whole export",
		Long: `import makes a store out of a whole export (- is stdin): the same bytes, the same head. Every line is checked; a file that was
cut, changed or put in another order is refused with the place, and nothing is left behind. Without the key of the old
store (keys/seal.key) the new one can be read and added to, and issues no verdicts.`,
		Example: "  dk --store new log import dk.jsonl --key-file old/keys/seal.key",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return withHint(errors.New("name one export"), "dk log export --out FILE makes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.logImport(c, args[0], keyFile) },
	}
	c.Flags().StringVar(&keyFile, "key-file", "", "sealing key of the old store")
	return c
}

func (a *app) logImport(c *cobra.Command, file, keyFile string) error {
	dir, err := a.storeDir()
	if err != nil {
		return err
	}
	in := a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	var key []byte
	if keyFile != "" {
		if key, err = os.ReadFile(keyFile); err != nil {
			return err
		}
	}
	tree, err := projections.Restore(c.Context(), dir, in, key)
	if errors.Is(err, events.ErrExists) {
		return withHint(err, "name a new folder with --store DIR")
	}
	if err != nil {
		return err
	}
	a.err.printf("%s: %s, root %s\n", dir, plural(int(tree.Size), "event"), tree.Root)
	return nil
}

// writeOut writes to a file, which appears only when it is whole, or to stdout.
func (a *app) writeOut(name string, write func(io.Writer) error) error {
	if name == "" {
		return write(a.out.w)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".dk-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
