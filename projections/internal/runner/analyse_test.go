//go:build linux || darwin

package runner

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/rules/shell"
)

// Compound commands put together at random run as bash runs them: same output, same status.
func TestCompoundCommandsRunAsInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	p := newPlace(t)
	p.write("a.txt", "alpha\nbeta\n", 0o644)
	p.write("sub/d.txt", "delta\n", 0o644)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	c := composer{rand.New(rand.NewPCG(uint64(seed), 1))}
	for range 300 {
		text := c.list(3)
		a := shell.Analyse(text)
		require.Truef(t, a.Parsed, "%s: %v", text, a.Refusals)
		cmd := exec.Command(bash, "--noprofile", "--norc", "-c", text)
		cmd.Dir = p.root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		out, _ := cmd.Output()
		run := p.run(a.Plan)
		require.Empty(t, run.Problem, "%s: %s", text, run.Detail)
		require.Equal(t, cmd.ProcessState.ExitCode(), run.Exit, text)
		require.Equal(t, string(out), run.Stdout.Text, text)
	}
}

// A composer makes compound commands out of harmless ones.
type composer struct{ *rand.Rand }

func (c composer) pick(list ...string) string { return list[c.IntN(len(list))] }

func (c composer) list(depth int) string {
	text := c.pipeline(depth)
	for range c.IntN(3) {
		text += c.pick(" && ", " || ", "; ", "\n") + c.pipeline(depth)
	}
	return text
}

func (c composer) pipeline(depth int) string {
	if c.IntN(8) == 0 {
		return c.pick("cd .", "(cd sub && cat d.txt)", "(cd sub; cd ..; ls *.txt)") // a cd in a pipe is refused
	}
	if depth > 0 && c.IntN(4) == 0 {
		if c.IntN(2) == 0 {
			return "( " + c.list(depth-1) + " )" // `((` would be arithmetic
		}
		return "{ " + c.list(depth-1) + "; }"
	}
	text := c.pick("", "", "", "! ") + c.simple()
	for range c.IntN(3) {
		text += " | " + c.pick("cat", "sort -r", "head -n 1", "wc -l", "grep a", "grep -q b", "tr a-z A-Z", "tail -n 1", "false", "true")
	}
	return text
}

func (c composer) simple() string {
	return c.pick(
		"true", "false", "echo one", `echo "two  words"`, "echo 'a;b' c", "printf '%s\\n' x y", "test -f a.txt", "test -d nothing", "grep -q alpha a.txt",
		"grep -q omega a.txt", "cat a.txt", "cat nothing 2>/dev/null", "ls *.txt", "echo *.none", "ls sub", "echo $?", "wc -l < a.txt",
		"[ -f a.txt ]", "diff a.txt sub/d.txt >/dev/null", "echo hi 1>&2", "X=1 echo set", "echo {a,b}{1,2}", "seq 3",
	)
}

// What the analyser makes of a text runs as bash runs that text.
func TestAnalysedTextRunsAsInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	p := newPlace(t)
	for name, text := range map[string]string{
		"a.txt": "alpha\nbeta\n", "b c.txt": "gamma\n", ".hid": "", "sub/d.txt": "delta\n", "sub/deep/e.txt": "", "a-b.txt": "",
	} {
		p.write(name, text, 0o644)
	}
	require.NoError(t, os.Symlink("sub/deep", filepath.Join(p.root, "link")))
	planned := 0
	for _, text := range []string{
		`echo hello`, `echo "a  b" 'c  d' e\ f`, `echo a; echo b`, `true && echo yes`, `false && echo no`, `false || echo yes`, `true || echo no`,
		`false; echo $?`, `! true; echo $?`, `! false`, `! grep -q alpha a.txt`, `grep -q alpha a.txt && echo found`, `grep -q omega a.txt || echo missing`,
		`cat a.txt | wc -l`, `cat a.txt | grep beta | wc -l`, `cat a.txt | head -n 1`, `cat a.txt | tail -n 1`, `false | true; echo "${PIPESTATUS[0]} ${PIPESTATUS[1]}"`,
		`false | true`, `true | false`, `set -o pipefail; false | true`, `cd sub && ls`, `(cd sub && ls); ls`, `cd sub; cd ..; ls`, `cd link && ls ..`,
		`cd sub/deep && cat ../d.txt`, `ls *.txt`, `echo *`, `echo "*"`, `echo \*`, `echo *.none`, `echo ?.txt`, `echo [ab]*.txt`, `echo [!a]*.txt`, `echo sub/*`, `echo */*.txt`,
		`echo .h*`, `echo {x,y}{1,2}`, `echo a{b,c}.txt`, `echo {1..3}`, `echo "$?"`, `cat a.txt >/dev/null`, `ls nothing 2>/dev/null`, `ls nothing 2>/dev/null; echo $?`,
		`ls nothing >/dev/null 2>&1 || echo gone`, `cat < a.txt`, `wc -l < a.txt`, `sort <a.txt | head -1`, `diff a.txt a.txt && echo same`, `diff a.txt 'b c.txt' >/dev/null || echo other`,
		`test -f a.txt && echo file`, `[ -d sub ] && echo dir`, `[ -f nothing ] || echo none`, `test 1 -eq 2; echo $?`, `FOO=1 BAR='x y' echo set`,
		`echo a && echo b || echo c`, `false && echo a || echo b`, `true || echo a && echo b`, `echo a || echo b; echo c`, `: && echo yes`,
		`echo "it's"`, `echo 'a"b'`, `echo $'a\tb'`, `echo a"b"'c'\d`, `echo`, `echo -- -n`, `printf '%s\n' a b`, `echo hi 1>&2`, `echo hi >&2 2>/dev/null`,
		`timeout 5 echo hi`, `env echo hi`, `grep -c a *.txt`, `grep -n alpha a.txt | cut -d: -f1`, `cat a.txt | sort -r | uniq`, `cat nothing; echo $?`,
		"echo one\necho two", "false ||\necho two", "# only a comment\necho hi # and another", `cat a.txt | tr a-z A-Z`, `seq 3 | paste -sd+`,
		`bash -c 'echo inner; exit 3'; echo $?`, `sh -c "echo a && echo b"`, `echo "${PIPESTATUS[0]}"`, `(false); echo $?`, `(echo a; echo b) `, `wc -c a.txt sub/d.txt`,
	} {
		a := shell.Analyse(text)
		if !a.Parsed {
			continue
		}
		planned++
		cmd := exec.Command(bash, "--noprofile", "--norc", "-c", text)
		cmd.Dir = p.root
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()

		run := p.run(a.Plan)
		require.Empty(t, run.Problem, "%s: %s", text, run.Detail)
		require.Equal(t, cmd.ProcessState.ExitCode(), run.Exit, text)
		require.Equal(t, stdout.String(), run.Stdout.Text, text)
		require.Equal(t, stderr.String(), run.Stderr.Text, text)
	}
	require.Greater(t, planned, 30)
	t.Logf("%d texts ran", planned)
}
