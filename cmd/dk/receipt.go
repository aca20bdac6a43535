package main

import (
	"errors"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/graph"
)

// receiptLine is the form of a receipt on stdout with --json.
type receiptLine struct {
	Receipt    string         `json:"receipt"`
	Claim      string         `json:"claim"`
	ClaimID    string         `json:"claim_id"`
	Text       string         `json:"text"`
	Kind       string         `json:"kind"`
	Command    string         `json:"command"`
	CWD        string         `json:"cwd"`
	Verdict    events.Verdict `json:"verdict"`
	Reason     string         `json:"reason"`
	Why        string         `json:"why"`
	Rules      []string       `json:"rules"`
	Ruleset    string         `json:"ruleset"`
	Run        string         `json:"run,omitempty"`
	Seq        uint64         `json:"seq"`
	Supersedes string         `json:"supersedes,omitempty"`
	About      []string       `json:"about,omitempty"`

	seen *events.Seen // where the claim stands
}

// lineOf gathers what a receipt says from the graph.
func lineOf(v *graph.View, receipt graph.Node) (receiptLine, error) {
	w, err := v.Why(receipt)
	if err != nil {
		return receiptLine{}, err
	}
	r, err := graph.Decode[events.Receipt](receipt)
	if err != nil {
		return receiptLine{}, err
	}
	line, err := claimLine(w.Claim)
	if err != nil {
		return line, err
	}
	line.Receipt, line.Seq = receipt.ID.String(), receipt.Seq
	line.Verdict, line.Reason, line.Why = r.Verdict, r.Reason, r.Why
	line.Rules, line.Ruleset = r.Deciding(), r.Ruleset
	if w.Run != nil {
		line.Run = w.Run.ID.String()
		run, err := graph.Decode[events.Run](*w.Run)
		if err != nil {
			return line, err
		}
		if run.CWD != "" {
			line.CWD = run.CWD
		}
	}
	for _, n := range w.About {
		line.About = append(line.About, n.ID.String())
	}
	for e := range v.Out(receipt.ID, graph.EdgeRevises) {
		line.Supersedes = e.To.String()
	}
	return line, nil
}

// claimLine is the same for a claim without a receipt: it has no verdict.
func claimLine(n graph.Node) (receiptLine, error) {
	c, err := graph.Decode[events.Claim](n)
	line := receiptLine{
		Claim: n.ID.String(), ClaimID: c.ClaimID, Text: c.Text, Kind: c.Kind, Command: c.Verify, CWD: c.CWD,
		Rules: []string{}, Seq: n.Seq, seen: n.Seen,
	}
	if line.CWD == "" && n.Seen != nil {
		line.CWD = n.Seen.CWD
	}
	return line, err
}

// ofClaim is the line of the receipt that counts for a claim, or of the unjudged claim.
func ofClaim(v *graph.View, claim graph.Node) (receiptLine, error) {
	receipt, err := v.Receipt(claim.ID)
	if errors.Is(err, graph.ErrNotFound) {
		return claimLine(claim)
	}
	if err != nil {
		return receiptLine{}, err
	}
	return lineOf(v, receipt)
}

// printReceipts writes receipts for people: the verdict first, then the claim, then why.
func (a *app) printReceipts(lines []receiptLine) {
	width := 2
	for _, l := range lines {
		width = max(width, min(len([]rune(clean(l.ClaimID))), 20))
	}
	indent := 12 + 2 + width + 2
	for _, l := range lines {
		a.out.printf("%s  %s  %s\n", a.out.verdict(l.Verdict), pad(short(l.ClaimID, 20), width), a.out.paint(bold, short(l.Text, 100)))
		if l.Command != "" {
			a.out.printf("%*s%s\n", indent, "", a.out.paint(dim, "$ "+short(l.Command, 110)))
		}
		if l.Why != "" {
			a.out.printf("%*s%s\n", indent, "", short(l.Why, 220))
		}
	}
}

// printCount says how many there were of each verdict.
func (a *app) printCount(lines []receiptLine, what string) {
	counts := make(map[events.Verdict]int)
	for _, l := range lines {
		counts[l.Verdict]++
	}
	text := plural(len(lines), what)
	sep := ": "
	for _, v := range []events.Verdict{events.Verified, events.Failed, events.Unsafe, events.Unrunnable} {
		if counts[v] > 0 {
			text += sep + itoa(counts[v]) + " " + string(v)
			sep = ", "
		}
	}
	if counts[""] > 0 {
		text += sep + itoa(counts[""]) + " unjudged"
	}
	a.err.printf("%s\n", text)
}

// negative reports whether any claim was judged and not verified.
func negative(lines []receiptLine) bool {
	for _, l := range lines {
		if l.Verdict != "" && l.Verdict != events.Verified {
			return true
		}
	}
	return false
}
