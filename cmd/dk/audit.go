package main

import (
	"context"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
	"github.com/dalkkak/dkgraph/projections"
)

func (a *app) auditCommand() *cobra.Command {
	var against, agentUser string
	c := a.jsonFlag(&cobra.Command{
		Use:   "audit",
		Short: "Read the whole store again and say what is wrong with it",
		Long: `audit reads every event (hash, chain, seal, dense sequence, each origin once), builds the graph a second time from the log and
compares it with the one in use, row by row. With --against it also says whether the log was cut back or rewritten since
somebody kept a checkpoint of it (dk log checkpoint); so it does for every anchor of the store (dk log anchor). It says at which level of trust the store is.

Exit status: 0 nothing wrong was found, 1 something was, 2 it could not be read.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			err := a.read(c.Context(), func(p *projections.Projector, _ *graph.View) error {
				found, err := p.Audit(c.Context(), a.auditProgress())
				a.endProgress()
				if err == nil && agentUser != "" {
					err = checkAccount(p, agentUser, &found)
				}
				if err == nil && against != "" {
					err = compareWith(c.Context(), p, against, &found)
				}
				if err == nil {
					err = compareAnchors(c.Context(), p, &found)
				}
				if err != nil {
					return err
				}
				return a.printAudit(found)
			})
			if damaged(err) { // so badly that it does not open
				detail, _, _ := strings.Cut(err.Error(), "\nhint:")
				err = a.printAudit(projections.Audit{Findings: []projections.Finding{{What: "log", Detail: detail}}})
				a.err.printf("hint: %s\n", hintFor(events.ErrCorrupt))
				return err
			}
			return err
		},
	})
	c.Flags().StringVar(&against, "against", "", "checkpoint file that was kept elsewhere")
	c.Flags().StringVar(&agentUser, "agent-user", "", "account under which agents run: say whether it could read the key")
	return c
}

// checkAccount adds what the account that agents run under could do.
func checkAccount(p *projections.Projector, name string, found *projections.Audit) error {
	u, err := user.Lookup(name)
	if err != nil {
		return withHint(err, "name the account that the agents run under")
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	other, why, err := p.OtherAccount(uid)
	switch {
	case err != nil:
		return err
	case other:
		found.Trust = projections.TrustOtherAccount
	default:
		found.Trust += " (" + name + ": " + why + ")"
	}
	return nil
}

// compareWith adds what a checkpoint kept elsewhere says.
func compareWith(ctx context.Context, p *projections.Projector, file string, found *projections.Audit) error {
	signed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := p.Against(ctx, signed); err != nil {
		found.Findings = append(found.Findings, projections.Finding{What: "checkpoint", Detail: file + ": " + err.Error()})
		return nil
	}
	found.Trust = projections.TrustAnchored
	return nil
}

// compareAnchors adds what the anchors of the store say. One that cannot be reached is a finding, too: it proves nothing.
func compareAnchors(ctx context.Context, p *projections.Projector, found *projections.Audit) error {
	anchors, err := p.Anchors()
	for _, a := range anchors {
		t, err := p.CheckAnchor(ctx, a)
		switch {
		case err != nil:
			found.Findings = append(found.Findings, projections.Finding{What: "anchor", Detail: err.Error()})
		case t.Size == 0:
			found.Findings = append(found.Findings, projections.Finding{What: "anchor", Detail: "anchor " + a.Name() + ": it has lost its checkpoint"})
		default:
			found.Trust = projections.TrustAnchored
		}
	}
	return err
}

func (a *app) auditProgress() func(done, total uint64) {
	if !a.err.tty {
		return nil
	}
	return func(done, total uint64) {
		if done%1000 == 0 {
			a.err.printf("\r\x1b[K%d/%d events", done, total)
		}
	}
}

func (a *app) printAudit(found projections.Audit) error {
	if a.json {
		if err := a.out.jsonLine(found); err != nil {
			return err
		}
		return negativeIf(!found.OK())
	}
	for _, f := range [][2]string{
		{"log", found.Origin},
		{"key", found.PublicKey},
		{"events", itoa(int(found.Events)) + ", sealed " + itoa(found.Sealed)},
		{"head", found.Head.String()},
		{"claims", itoa(found.Claims) + ", receipts " + itoa(found.Receipts)},
		{"trust", found.Trust},
	} {
		if found.Origin != "" { // it could be opened
			a.out.printf("%s  %s\n", a.out.paint(dim, pad(f[0], 6)), f[1])
		}
	}
	for _, f := range found.Findings {
		a.out.printf("%s  %s\n", a.out.paint(red, "✗ "+f.What), short(f.Detail, 400))
	}
	if !found.OK() {
		return negativeError{}
	}
	a.out.printf("%s hashes, chain, seals and sequence of %s; the graph is what the log says\n", a.out.paint(green, "✓"), plural(int(found.Events), "event"))
	return nil
}
