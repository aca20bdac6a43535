package runner

import (
	"bytes"
	"regexp"

	"github.com/dalkkak/dkgraph/events"
)

// The kinds of expectation, see [Expect].
const (
	stdoutContains = "stdout_contains"
	stderrContains = "stderr_contains"
	outputContains = "output_contains"
	outputExcludes = "output_excludes"
	outputMatches  = "output_matches"
)

// maxGot bounds the line kept of a match, in bytes.
const maxGot = 300

// A finder looks for one expectation in one output. Each output has finders of its own, so none of them is shared
// between goroutines.
type finder struct {
	want  []byte         // nil for a pattern
	re    *regexp.Regexp // nil for plain text
	carry []byte         // the end of what came before, where a match across chunks can start
	found bool
	line  string // that holds the match
}

func newFinder(x Expect) *finder {
	if x.What == outputMatches {
		return &finder{re: regexp.MustCompile(x.Want)}
	}
	return &finder{want: []byte(x.Want)}
}

// findersFor makes the finders of one output, nil where an expectation is not about it. Their order is that of expects.
func findersFor(output string, expects []Expect) []*finder {
	all := make([]*finder, len(expects))
	for i, x := range expects {
		if x.What == stdoutContains && output != "stdout" || x.What == stderrContains && output != "stderr" {
			continue
		}
		all[i] = newFinder(x)
	}
	return all
}

// chunk looks for plain text in the raw bytes, as they come.
func (f *finder) chunk(p []byte) {
	if f.found || f.want == nil {
		return
	}
	if n := len(f.carry); n > 0 {
		seam := append(f.carry, p[:min(len(p), len(f.want)-1)]...)
		if i := bytes.Index(seam, f.want); i >= 0 {
			f.hit(append(seam[:n:n], p[:min(len(p), maxGot)]...), i)
			return
		}
	}
	if i := bytes.Index(p, f.want); i >= 0 {
		f.hit(p, i)
		return
	}
	keep := len(f.want) - 1
	if len(p) < keep {
		f.carry = append(f.carry, p...)
		f.carry = append(f.carry[:0], f.carry[max(0, len(f.carry)-keep):]...)
		return
	}
	f.carry = append(f.carry[:0], p[len(p)-keep:]...)
}

// text looks in one line: for a pattern always, for plain text only where clean, the line without terminal control,
// differs. Colours must not hide a word.
func (f *finder) text(line, clean []byte) {
	if f.found {
		return
	}
	differs := len(clean) != len(line)
	if f.re != nil {
		if f.re.Match(line) || differs && f.re.Match(clean) {
			f.found, f.line = true, string(clean)
		}
		return
	}
	if differs && bytes.Contains(clean, f.want) {
		f.found, f.line = true, string(clean)
	}
}

// hit records a match at p[at:].
func (f *finder) hit(p []byte, at int) {
	f.found = true
	start := bytes.LastIndexByte(p[:at], '\n') + 1
	start = max(start, at-maxGot)
	end := len(p)
	if i := bytes.IndexByte(p[at:], '\n'); i >= 0 {
		end = at + i
	}
	f.line = string(p[start:min(end, start+2*maxGot)])
}

// judge puts together what the finders of both outputs found. An expectation that output does not hold something is met
// when neither holds it.
func judge(expects []Expect, outputs [][]*finder, r *redactor) []events.ExpectHit {
	var hits []events.ExpectHit
	for i, x := range expects {
		hit := events.ExpectHit{What: x.What, Want: x.Want}
		for _, finders := range outputs {
			if f := finders[i]; f != nil && f.found && !hit.Met {
				hit.Met = true
				hit.Got = clip(r.text(plain(f.line)), maxGot)
			}
		}
		if x.What == outputExcludes {
			hit.Met = !hit.Met
		}
		hits = append(hits, hit)
	}
	return hits
}
