package shell

import (
	"regexp"
	"strings"
)

// An assignment in front of a command is benign (known to change no code and no endpoint), steering (known or likely to), or
// custom (neither: the project's own switch).

// benignEnv are free to set to anything.
var benignEnv = words(`CI TZ LANG LANGUAGE NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLORTERM TERM COLUMNS LINES GOOS GOARCH GOARM GOAMD64 CGO_ENABLED
	GO111MODULE GOMAXPROCS GODEBUG GOGC GOMEMLIMIT GOTRACEBACK GOEXPERIMENT GORACE NODE_ENV BABEL_ENV RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS RUST_MIN_STACK
	CARGO_TERM_COLOR CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_TERM_VERBOSE CARGO_BUILD_JOBS MIRIFLAGS_NONE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
	PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS PYTEST_DISABLE_PLUGIN_AUTOLOAD DJANGO_DEBUG RAILS_ENV RACK_ENV APP_ENV MIX_ENV ENVIRONMENT
	DEBUG VERBOSE LOG_LEVEL LOGLEVEL SOURCE_DATE_EPOCH UV_OFFLINE TAP_COLORS VITEST JEST_WORKER_ID UPDATE_NOTIFIER DO_NOT_TRACK NEXT_TELEMETRY_DISABLED
	DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO ASTRO_TELEMETRY_DISABLED TURBO_TELEMETRY_DISABLED NX_DAEMON SKIP CMAKE_BUILD_PARALLEL_LEVEL CTEST_OUTPUT_ON_FAILURE
	GTEST_COLOR CTEST_PARALLEL_LEVEL OMP_NUM_THREADS NIX_SHOW_STATS HOMEBREW_NO_AUTO_UPDATE GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GIT_CONFIG_NOSYSTEM`)

// valuedEnv would steer, but not with these values.
var valuedEnv = map[string]*regexp.Regexp{
	"NODE_OPTIONS": regexp.MustCompile(`^(--(max-old-space-size=\d+|experimental-[a-z-]+|no-[a-z-]*warnings|no-deprecation|trace-[a-z-]+|enable-source-maps|` +
		`openssl-legacy-provider|unhandled-rejections=[a-z]+|stack-trace-limit=\d+|test-reporter=(spec|tap|dot)) ?)+$`),
	"RUSTFLAGS":                    regexp.MustCompile(`^((-D|-W|-A) ?[a-z_:-]+ ?)+$`),
	"RUSTDOCFLAGS":                 regexp.MustCompile(`^((-D|-W|-A) ?[a-z_:-]+ ?)+$`),
	"GOFLAGS":                      regexp.MustCompile(`^(-(mod=(mod|vendor|readonly)|buildvcs=(true|false|auto)|count=\d+|race|v|trimpath|short) ?)+$`),
	"GOPROXY":                      regexp.MustCompile(`^off$`),
	"GOTOOLCHAIN":                  regexp.MustCompile(`^local$`),
	"GOWORK":                       regexp.MustCompile(`^off$`),
	"PYTHONPATH":                   regexp.MustCompile(`^\.?$|^(\./)?[A-Za-z0-9_][A-Za-z0-9_-]*(/[A-Za-z0-9_][A-Za-z0-9_-]*)*/?(:\.)?$|^\.(:(\./)?[A-Za-z0-9_-]+)+$`),
	"DJANGO_SETTINGS_MODULE":       regexp.MustCompile(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$`),
	"MAKEFLAGS":                    regexp.MustCompile(`^-j ?\d*$`),
	"PAGER":                        regexp.MustCompile(`^cat$`),
	"GIT_PAGER":                    regexp.MustCompile(`^(cat)?$`),
	"DATABASE_URL":                 regexp.MustCompile(`^(sqlite://(/:memory:)?|[a-z0-9+]+://([a-z0-9_]+(:[a-z0-9_]+)?@)?(localhost|127\.0\.0\.1)(:\d+)?(/[A-Za-z0-9_-]*)?|file:[A-Za-z0-9_./-]+)$`),
	"CARGO_PROFILE_TEST_OPT_LEVEL": regexp.MustCompile(`^[0-3s]$`),
	"COREPACK_ENABLE_STRICT":       regexp.MustCompile(`^[01]$`),
}

var (
	// steeringEnv: which code runs, which endpoint is used, or a credential.
	steeringEnv = regexp.MustCompile(`^(PATH|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|SHELL|PS4|PROMPT_COMMAND|CDPATH|HOME|PWD|OLDPWD|TMPDIR|XDG_.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|` +
		`PYTHON.*|PERL.*|RUBY.*|BUNDLE_.*|GEM_.*|NODE_.*|NPM_.*|npm_.*|YARN_.*|PNPM_.*|BUN_.*|DENO_.*|COREPACK_.*|JAVA.*|_JAVA.*|JDK_.*|MAVEN_.*|MVN.*|GRADLE_.*|SBT_.*|ANT_.*|` +
		`GO[A-Z0-9]*|CGO_.*|CC|CXX|CPP|LD|AR|AS|NM|STRIP|OBJCOPY|PKG_CONFIG.*|CMAKE_.*|RUSTC.*|RUSTFLAGS|RUSTUP_.*|RUSTDOC.*|CARGO_.*|MAKE.*|` +
		`DOCKER_.*|COMPOSE_.*|KUBE.*|HELM_.*|AWS_.*|AZURE_.*|ARM_.*|GOOGLE_.*|GCLOUD_.*|CLOUDSDK_.*|TF_.*|VAULT_.*|GH_.*|GITHUB_.*|GITLAB_.*|CI_JOB_.*|` +
		`TAR_OPTIONS|TAPE|GREP_OPTIONS|RIPGREP_.*|LESS.*|MANPAGER|VISUAL|BROWSER|EDITOR|POSIXLY_CORRECT|MIX_.*|HEX_.*|ERL_.*|ELIXIR_.*|NIX_.*|UV_.*|PIP_.*|POETRY_.*|` +
		`PYTEST_.*|TOX_.*|NOX_.*|CONDA.*|VIRTUAL_ENV|PHP.*|COMPOSER_.*|DOTNET_.*|NUGET_.*|MSBUILD.*|SWIFT_.*|DEVELOPER_DIR|SDKROOT|JEST_.*|VITE_NODE.*|TS_NODE.*|` +
		`DATABASE_URL|GCONV_PATH|LOCPATH|MALLOC_.*|OPENSSL_.*|SSL_.*|CURL_.*|WGETRC|RES_OPTIONS|HOSTALIASES|NLSPATH|TERMINFO.*|ELECTRON_.*|PLAYWRIGHT_.*|PUPPETEER_.*|DISPLAY|` +
		`LUA_.*|R_.*|JULIA_.*|OPAM.*|OCAML.*|DUNE_.*|STACK_.*|CABAL_.*|GHC.*|ZIG_.*|BAZEL.*|PRE_COMMIT.*)$`)
	steeringTail = regexp.MustCompile(`(?i)(pager|editor|rsh|ssh|proxy|token|secret|key|passw(or)?d|credentials?|auth|options|opts|flags|args|command|cmd|` +
		`path|home|config|rc|shell|wrapper|preload|plugins?|hooks?|host|url|uri|endpoint|registry|compiler|loader|exec|script|startup|init|bin|binary|driver|backend_module)$`)
	benignTail  = regexp.MustCompile(`^LC_[A-Z]+$`)
	customValue = regexp.MustCompile(`^[\pL\pN_.,:@%+=*-][\pL\pN_.,:@%+=/* -]*$|^$`)
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// envVar classes one assignment.
func (l *lowerer) envVar(name, value string) EnvVar {
	return EnvVar{Name: name, Value: shown(value), Class: envClass(name, value, l.place("read", value))}
}

func envClass(name, value, place string) string {
	switch re := valuedEnv[name]; {
	case !envName.MatchString(name) || strings.Contains(value, "()"):
		return "steering"
	case re != nil && re.MatchString(value):
		return "benign"
	case benignEnv[name] || benignTail.MatchString(name):
		if customValue.MatchString(value) && !strings.Contains(value, "/") {
			return "benign"
		}
		return "steering"
	case steeringEnv.MatchString(name), steeringTail.MatchString(name):
		return "steering"
	case !customValue.MatchString(value):
		return "steering"
	case place != "repo" && place != "tmp" && place != "null" && place != "unknown" && place != "artifact":
		return "steering"
	}
	return "custom"
}
