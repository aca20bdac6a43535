package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keptNames are taken over as they are. Everything that is neither here nor a toolRoot is dropped: most of what can be
// set to make a test pass, or to reach a credential, is a variable.
var keptNames = []string{"USER", "LOGNAME", "TZ"}

// A toolRoot is a variable that names a folder in which a tool keeps itself or its cache. It is taken over when it is
// an absolute path outside of the granted root; when it is not set, the first usual place that exists, below the
// user's own HOME, is named, because the HOME of a run is private and empty.
type toolRoot struct {
	name  string
	usual []string
}

var toolRoots = []toolRoot{
	{"GOROOT", nil},
	{"GOPATH", []string{"go"}},
	{"GOMODCACHE", []string{"go/pkg/mod"}},
	{"GOCACHE", []string{".cache/go-build", "Library/Caches/go-build"}},
	{"CARGO_HOME", []string{".cargo"}},
	{"RUSTUP_HOME", []string{".rustup"}},
	{"NVM_DIR", []string{".nvm"}},
	{"FNM_DIR", nil},
	{"VOLTA_HOME", []string{".volta"}},
	{"ASDF_DATA_DIR", []string{".asdf"}},
	{"MISE_DATA_DIR", []string{".local/share/mise"}},
	{"COREPACK_HOME", []string{".cache/node/corepack"}},
	{"npm_config_cache", []string{".npm"}},
	{"YARN_CACHE_FOLDER", []string{".cache/yarn", "Library/Caches/Yarn"}},
	{"YARN_GLOBAL_FOLDER", []string{".yarn/berry"}},
	{"PNPM_HOME", []string{".local/share/pnpm", "Library/pnpm"}},
	{"BUN_INSTALL", []string{".bun"}},
	{"DENO_DIR", []string{".cache/deno", "Library/Caches/deno"}},
	{"PYENV_ROOT", []string{".pyenv"}},
	{"VIRTUAL_ENV", nil},
	{"CONDA_PREFIX", nil},
	{"PYTHONUSERBASE", []string{".local"}},
	{"PIP_CACHE_DIR", []string{".cache/pip", "Library/Caches/pip"}},
	{"UV_CACHE_DIR", []string{".cache/uv"}},
	{"UV_PYTHON_INSTALL_DIR", []string{".local/share/uv/python"}},
	{"UV_TOOL_DIR", []string{".local/share/uv/tools"}},
	{"POETRY_CACHE_DIR", []string{".cache/pypoetry", "Library/Caches/pypoetry"}},
	{"PLAYWRIGHT_BROWSERS_PATH", []string{".cache/ms-playwright", "Library/Caches/ms-playwright"}},
	{"CYPRESS_CACHE_FOLDER", []string{".cache/Cypress", "Library/Caches/Cypress"}},
	{"PUPPETEER_CACHE_DIR", []string{".cache/puppeteer"}},
	{"JAVA_HOME", nil},
	{"M2_HOME", nil},
	{"MAVEN_HOME", nil},
	{"GRADLE_USER_HOME", []string{".gradle"}},
	{"ANDROID_HOME", nil},
	{"ANDROID_SDK_ROOT", nil},
	{"DOTNET_ROOT", []string{".dotnet"}},
	{"NUGET_PACKAGES", []string{".nuget/packages"}},
	{"RBENV_ROOT", []string{".rbenv"}},
	{"GEM_HOME", nil},
	{"BUNDLE_USER_CACHE", []string{".bundle/cache"}},
	{"COMPOSER_CACHE_DIR", []string{".cache/composer"}},
	{"MIX_HOME", []string{".mix"}},
	{"HEX_HOME", []string{".hex"}},
	{"STACK_ROOT", []string{".stack"}},
	{"CABAL_DIR", []string{".cabal"}},
	{"OPAMROOT", []string{".opam"}},
}

// fixedVars are the same in every run. They keep tools from waiting, paging, colouring, phoning home, changing the
// tree, or answering from a cache.
var fixedVars = []string{
	"CI=1", "NO_COLOR=1", "TERM=dumb", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "SHELL=/bin/sh",
	"PAGER=cat", "MANPAGER=cat", "EDITOR=true", "VISUAL=true",
	"GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false",
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0",
	// A repository's own configuration can name programs to run; these win over it. The identity is for suites that
	// commit.
	"GIT_CONFIG_COUNT=5",
	"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
	"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null",
	"GIT_CONFIG_KEY_2=core.pager", "GIT_CONFIG_VALUE_2=cat",
	"GIT_CONFIG_KEY_3=user.name", "GIT_CONFIG_VALUE_3=dk",
	"GIT_CONFIG_KEY_4=user.email", "GIT_CONFIG_VALUE_4=dk@localhost",
	"GOFLAGS=-count=1", "GOENV=off", "GOTOOLCHAIN=local",
	"PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
	"npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false", "npm_config_logs_max=0", "NO_UPDATE_NOTIFIER=1",
	"COREPACK_ENABLE_DOWNLOAD_PROMPT=0", "NEXT_TELEMETRY_DISABLED=1", "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1",
	"CARGO_TERM_COLOR=never", "CARGO_TERM_PROGRESS_WHEN=never",
	"DOTNET_CLI_TELEMETRY_OPTOUT=1", "DOTNET_NOLOGO=1", "DENO_NO_UPDATE_CHECK=1",
	"GRADLE_OPTS=-Dorg.gradle.daemon=false",
}

// An environment is what the commands of a run get, and what was kept from them.
type environment struct {
	vars    []string // NAME=VALUE, sorted
	path    []string // folders of PATH, in order
	dropped []string // what was left out of PATH and why, for people
	tools   []string // folders of toolRoots: programs in them may be named by absolute path
	secrets []string // values of variables that were dropped and are named like a secret
	private string   // the run's own folder
}

// newEnvironment builds the environment of one run from a snapshot. It takes from it by name only, and sets the rest.
func newEnvironment(o Options, root, private string) environment {
	snapshot := o.Environ
	if snapshot == nil {
		snapshot = os.Environ()
	}
	was := make(map[string]string, len(snapshot))
	for _, line := range snapshot {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" {
			was[name] = value // the last one wins, as in exec
		}
	}
	e := environment{private: private}
	vars := make(map[string]string)
	for _, line := range fixedVars {
		name, value, _ := strings.Cut(line, "=")
		vars[name] = value
	}
	for _, name := range append(keptNames, o.KeepEnv...) {
		if value, ok := was[name]; ok {
			vars[name] = value
		}
	}
	e.addTools(vars, was, root)
	if o.GoCache != "" {
		vars["GOCACHE"] = o.GoCache
	}
	path := o.Path
	if path == "" {
		path = was["PATH"]
	}
	e.path, e.dropped = pinPath(path, root)
	vars["PATH"] = strings.Join(e.path, string(filepath.ListSeparator))
	addPrivate(vars, private)
	for name, value := range vars {
		e.vars = append(e.vars, name+"="+value)
	}
	slices.Sort(e.vars)
	for name, value := range was {
		// A path is where a secret is kept, not the secret.
		if _, kept := vars[name]; !kept && secretName(name) && !filepath.IsAbs(value) {
			e.secrets = append(e.secrets, value)
		}
	}
	return e
}

func (e *environment) addTools(vars, was map[string]string, root string) {
	home := was["HOME"]
	for _, t := range toolRoots {
		value, set := was[t.name]
		if !set && filepath.IsAbs(home) {
			value = firstDir(home, t.usual)
		}
		if t.name == "GOMODCACHE" && !set && vars["GOPATH"] != "" {
			value = filepath.Join(filepath.SplitList(vars["GOPATH"])[0], "pkg", "mod")
		}
		if value == "" || !trusted(value, root) {
			continue
		}
		vars[t.name] = value
		if t.name != "PYTHONUSERBASE" {
			e.tools = append(e.tools, filepath.SplitList(value)...)
		}
	}
}

// trusted says that every folder of a list is absolute and out of reach of whoever writes in the granted root.
func trusted(list, root string) bool {
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) || inside(root, dir) {
			return false
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && inside(root, real) {
			return false
		}
	}
	return true
}

func firstDir(home string, usual []string) string {
	for _, u := range usual {
		dir := filepath.Join(home, filepath.FromSlash(u))
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// addPrivate names the folders that belong to this run alone and are removed after it.
func addPrivate(vars map[string]string, private string) {
	home, tmp := filepath.Join(private, "home"), filepath.Join(private, "tmp")
	vars["HOME"] = home
	vars["TMPDIR"], vars["TMP"], vars["TEMP"] = tmp, tmp, tmp
	vars["XDG_CONFIG_HOME"] = filepath.Join(home, ".config")
	vars["XDG_CACHE_HOME"] = filepath.Join(home, ".cache")
	vars["XDG_STATE_HOME"] = filepath.Join(home, ".local", "state")
	vars["XDG_DATA_HOME"] = filepath.Join(home, ".local", "share")
}

// record gives the names and a digest over all of it. The folder of the run is left out of the digest, so that two
// runs in the same environment have the same one.
func (e environment) record() (names []string, digest string) {
	h := sha256.New()
	for _, line := range e.vars {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
		h.Write([]byte(strings.ReplaceAll(line, e.private, "«run»") + "\n"))
	}
	return names, hex.EncodeToString(h.Sum(nil))
}
