//go:build linux || darwin

package runner

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkPlainExec(b *testing.B) {
	path, err := exec.LookPath("true")
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, exec.Command(path).Run())
	}
}

// The overhead of a run is this less BenchmarkPlainExec.
func BenchmarkRun(b *testing.B) {
	p := newPlace(b)
	opts := Options{Hashes: new(Hashes)}
	job := Job{Plan: x("true"), CWD: p.root, Root: p.root}
	for b.Loop() {
		run, err := Run(context.Background(), job, opts)
		require.NoError(b, err)
		require.Empty(b, run.Problem)
	}
}

// Output that is matched against one expectation and read by all extractors.
func BenchmarkCapture(b *testing.B) {
	for name, plan := range map[string][]string{"any": {"npm", "test"}, "go": {"go", "test"}} {
		b.Run(name, func(b *testing.B) {
			line := "    some_test.go:12: the quick brown fox jumps over 13 lazy dogs, see http://example.org\n"
			chunk := []byte(strings.Repeat(line, (32<<10)/len(line)))
			c := &capture{limit: 1 << 60, report: newAnalysis(x(plan...))}
			s := newStream(os.Stdin, "stdout", []Expect{{outputContains, "never there"}}, true)
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				c.take(s, chunk)
			}
		})
	}
}

// A whole run that writes 64 MiB.
func BenchmarkRunOutput(b *testing.B) {
	p := newPlace(b)
	b.SetBytes(64 << 20)
	for b.Loop() {
		run := p.ok(x("head", "-c", "67108864", "/dev/zero"))
		require.EqualValues(b, 64<<20, run.Stdout.Bytes)
	}
}
