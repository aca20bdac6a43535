// Command dk records what AI coding agents claim, checks it by itself, and says what it found.
//
// It fails openly: what could not be done is an error with exit status 2 and a hint, never a verdict. Exit status 0 is
// fine, 1 is a negative verdict. Data goes to stdout, talk to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

// memoryLimit makes the collector work harder rather than let a busy store grow; it is no hard limit.
const memoryLimit = 96 << 20

func main() {
	debug.SetMemoryLimit(memoryLimit)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, out: newPrinter(stdout), err: newPrinter(stderr)}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if a.out.err != nil { // whoever reads got less than all of it
		err = fmt.Errorf("write: %w", a.out.err)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, negativeError{}):
		return 1
	}
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "hint:") { // of a library; people get the one below
			a.err.printf("dk: %s\n", clean(line))
		}
	}
	if h := hintFor(err); h != "" {
		a.err.printf("hint: %s\n", h)
	}
	return 2
}

// An app is one call of the program.
type app struct {
	stdin    io.Reader
	out, err *printer
	store    string
	json     bool
}

// negativeError ends the program with status 1: everything worked, and the answer is no. It is returned by itself, never
// joined to another error: what could not be done comes first.
type negativeError struct{}

func (negativeError) Error() string { return "negative verdict" }

// hintError is an error with a next step.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

func withHint(err error, format string, args ...any) error {
	return hintError{err, fmt.Sprintf(format, args...)}
}

// damaged reports whether err says that the log is not what was written.
func damaged(err error) bool {
	for _, target := range []error{
		events.ErrCorrupt, events.ErrChain, events.ErrGap, events.ErrUnsealed, events.ErrRetargeted, graph.ErrRepeated,
		projections.ErrLost, events.ErrRewound, events.ErrForked, events.ErrCheckpoint,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// hintFor says what to do next about an error.
func hintFor(err error) string {
	var h hintError
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.Is(err, projections.ErrInUse):
		return "another dk has this store open; wait for it, or use another with --store DIR"
	case errors.Is(err, projections.ErrKey):
		return "reading works without the key; verdicts need the keys folder that was made with this store"
	case errors.Is(err, projections.ErrNotStore):
		return "name an empty or a new folder with --store DIR"
	case errors.Is(err, projections.ErrRules):
		return "dk rules activate says which packs are in force; dk rules activate --reset goes back to the default packs"
	case errors.Is(err, projections.ErrStoreInRoot):
		return "name another store with --store DIR, or a narrower --root DIR"
	case strings.HasPrefix(err.Error(), "unknown command"):
		return "dk --help lists the verbs"
	case damaged(err):
		return "nothing was changed; restore the store from a backup (dk restore), or go on with what is left: dk log accept-loss"
	}
	return ""
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "dk",
		Short: "Check what AI coding agents claim, and keep receipts",
		Long: `dk reads the transcripts of AI coding agents, finds the claims in them, checks each one by itself and keeps a sealed
receipt of what it found: verified, failed, unsafe (not run) or unrunnable.`,
		Example: `  dk demo                                  see the whole thing in a temporary folder
  dk verify ~/.claude/projects/x/s.jsonl   check what was claimed in a session, in this repository
  dk why t1                                see how a verdict came about`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Version:           buildVersion(),
	}
	root.PersistentFlags().StringVar(&a.store, "store", "", "folder of the store (default $DK_STORE, else "+defaultStoreHelp()+")")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return withHint(err, "%s --help lists the flags", c.CommandPath())
	})
	root.AddCommand(
		a.verifyCommand(), a.ingestCommand(), a.claimsCommand(), a.receiptsCommand(), a.nodesCommand(), a.showCommand(),
		a.whyCommand(), a.logCommand(), a.gateCommand(), a.auditCommand(), a.rulesCommand(), a.directiveCommand(),
		a.backupCommand(), a.restoreCommand(),
		a.demoCommand(),
	)
	return root
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// jsonFlag adds --json to a command that lists.
func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print JSON Lines")
	return c
}
