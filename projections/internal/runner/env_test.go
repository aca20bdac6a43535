//go:build linux || darwin

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// environ adds to the smallest environment in which programs are found.
func environ(lines ...string) func(*Job, *Options) {
	return func(_ *Job, o *Options) {
		o.Environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, lines...)
	}
}

// seenBy gives the environment that a command of such a run sees.
func seenBy(t *testing.T, p place, change ...func(*Job, *Options)) map[string]string {
	t.Helper()
	run := p.ok(h("env"), change...)
	vars := make(map[string]string)
	for line := range strings.Lines(run.Stdout.Text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		vars[name] = value
	}
	return vars
}

// Every one of these has been used to make a failing test pass, to run code in another program, or to reach a secret.
func TestVariablesThatFakeAPassAreDropped(t *testing.T) {
	const evil = "/tmp/evil"
	p := newPlace(t)
	names := []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH",
		"PROMPT_COMMAND", "BASH_FUNC_go%%", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PERL5OPT", "PERL5LIB",
		"RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "MAVEN_ARGS",
		"MAKEFLAGS", "MAKEFILES", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER", "RUSTC", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
		"CARGO_BUILD_RUSTC_WRAPPER", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "TOX_TESTENV", "npm_config_script_shell", "npm_config_node_options",
		"GOBIN", "GOTMPDIR", "GOEXPERIMENT", "CC", "CXX", "AR", "CGO_CFLAGS", "GOVCS", "GOPROXY",
		"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_DIR", "GIT_WORK_TREE", "GIT_EXEC_PATH", "GIT_CONFIG_KEY_5", "GIT_CONFIG_PARAMETERS",
		"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST", "KUBECONFIG", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "TMUX",
		"HTTP_PROXY", "https_proxy", "ALL_PROXY", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "CLAUDE_CONFIG_DIR",
		"JEST_JUNIT_OUTPUT", "VITEST_MODE", "COLUMNS", "UNHEARD_OF",
	}
	var lines []string
	for _, name := range names {
		lines = append(lines, name+"="+evil)
	}
	seen := seenBy(t, p, environ(lines...))
	for _, name := range names {
		require.NotContains(t, seen, name)
	}
}

func TestVariablesThatAreSet(t *testing.T) {
	p := newPlace(t)
	fixed := make(map[string]string)
	for _, line := range fixedVars {
		name, value, _ := strings.Cut(line, "=")
		fixed[name] = value
	}
	var lies []string
	for name := range fixed {
		lies = append(lies, name+"=lie")
	}
	seen := seenBy(t, p, environ(append(lies, "TMPDIR=/lie", "HOME=/lie", "XDG_CONFIG_HOME=/lie", "PWD=/lie")...))
	for name, value := range fixed {
		require.Equal(t, value, seen[name], name)
	}
	for name, value := range map[string]string{
		"GOFLAGS": "-count=1", "GOENV": "off", "GOTOOLCHAIN": "local", "CI": "1", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8",
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
		"GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false", "PAGER": "cat", "GIT_PAGER": "cat", "EDITOR": "true",
		"PIP_NO_INPUT": "1", "PYTHONDONTWRITEBYTECODE": "1",
	} {
		require.Equal(t, value, seen[name], name)
	}
	for _, name := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"} {
		require.Contains(t, seen[name], "dk-", name)
		require.NoDirExists(t, seen[name], name)
	}
	require.Equal(t, p.root, seen["PWD"])
}

func TestKeptVariables(t *testing.T) {
	p := newPlace(t)
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(outside, ".cargo"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "go", "pkg", "mod"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(p.root, "jdk"), 0o755))
	link := filepath.Join(outside, "link")
	require.NoError(t, os.Symlink(filepath.Join(p.root, "jdk"), link))
	seen := seenBy(t, p, environ("USER=somebody", "TZ=UTC", "HOME="+outside, "RUSTUP_HOME=/opt/rustup",
		"JAVA_HOME="+filepath.Join(p.root, "jdk"), "GOROOT=relative", "PYENV_ROOT="+link, "MORE=yes"),
		func(_ *Job, o *Options) { o.KeepEnv = []string{"MORE"}; o.GoCache = "/cache/go" })
	require.Equal(t, "somebody", seen["USER"])
	require.Equal(t, "UTC", seen["TZ"])
	require.Equal(t, "/opt/rustup", seen["RUSTUP_HOME"])
	require.Equal(t, filepath.Join(outside, ".cargo"), seen["CARGO_HOME"], "where it usually is")
	require.Equal(t, filepath.Join(outside, "go", "pkg", "mod"), seen["GOMODCACHE"])
	require.Equal(t, "/cache/go", seen["GOCACHE"])
	require.Equal(t, "yes", seen["MORE"])
	for _, name := range []string{"JAVA_HOME", "GOROOT", "PYENV_ROOT", "DENO_DIR"} {
		require.NotContains(t, seen, name)
	}
}

// A program of the tree, or of a folder that everybody may write to, cannot stand in for a tool.
func TestPathIsPinned(t *testing.T) {
	p := newPlace(t)
	shim := "#!/bin/sh\necho PASS\n"
	p.write("bin/mytool", shim, 0o755)
	open := newPlace(t)
	open.write("mytool", shim, 0o755)
	require.NoError(t, os.Chmod(open.root, 0o777))
	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(p.root, "bin"), linked))
	honest := newPlace(t)
	honest.write("mytool", "#!/bin/sh\necho honest\n", 0o755)

	path := strings.Join([]string{filepath.Join(p.root, "bin"), open.root, linked, "bin", ".", "", "/no/such"}, ":")
	at := func(path string) func(*Job, *Options) {
		return func(_ *Job, o *Options) { o.Path = path }
	}
	run := p.run(c("mytool"), at(path))
	require.Equal(t, ProgramNotFound, run.Problem)
	require.Contains(t, run.Detail, "everybody may write there")
	require.Contains(t, run.Detail, "lies in the granted folder")

	run = p.ok(c("mytool"), at(path+":"+honest.root))
	require.Equal(t, "honest\n", run.Stdout.Text)
	require.Equal(t, filepath.Join(honest.root, "mytool"), run.Stages[0].Program)
	require.False(t, run.Stages[0].InTree)
	require.Equal(t, honest.root, seenBy(t, p, at(path+":"+honest.root))["PATH"])
}

func TestEnvironmentDigest(t *testing.T) {
	p := newPlace(t)
	one, two := p.ok(x("true"), environ()), p.ok(x("true"), environ())
	require.Equal(t, one.EnvSHA, two.EnvSHA, "the private folders do not count")
	require.True(t, slices.IsSorted(one.EnvNames))
	require.Contains(t, one.EnvNames, "PATH")
	require.NotEqual(t, one.EnvSHA, p.ok(x("true"), environ("TZ=UTC")).EnvSHA)
}

// What was kept from a command must not show in the record either: it may have read it elsewhere.
func TestDroppedSecretsAreRedacted(t *testing.T) {
	const secret = "vErY-sEcReT-value"
	p := newPlace(t)
	run := p.ok(x("sh", "-c", "echo Error: the word is "+secret+" today; exit 1"), environ("MY_API_KEY="+secret),
		func(j *Job, _ *Options) { j.Expects = []Expect{{stdoutContains, secret}} })
	require.Equal(t, "Error: the word is «redacted:environment» today\n", run.Stdout.Text)
	require.Equal(t, []string{"Error: the word is «redacted:environment» today"}, run.Highlights)
	require.Equal(t, []events.ExpectHit{{What: stdoutContains, Want: secret, Met: true, Got: run.Highlights[0]}}, run.Expects,
		"matched before redaction")
}
