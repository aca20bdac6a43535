package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Places are judged from the text alone: a symbolic link in the repository may lead anywhere, which the sandbox has to stop.

// placeOrder is from harmless to harmful: a command that may run in several folders has the worst of its places.
var placeOrder = []string{"null", "artifact", "repo", "tmp", "loopback", "git_dir", "system", "home", "outside", "unknown", "device", "remote", "secret"}

// Place says where a path that is read leads: repo, git_dir, tmp, null, home, secret, system, device, outside, artifact or
// unknown. Absolute paths under root count as the repository's; root may be "".
func Place(root, value string) string { return placeOf("read", root, "", value) }

// place says where a path leads from each folder the command may run in.
func (l *lowerer) place(role, value string) string {
	worst := ""
	dirs := l.ok
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	for _, d := range dirs {
		p := placeOf(role, l.root, d, value)
		if slices.Index(placeOrder, p) > slices.Index(placeOrder, worst) {
			worst = p
		}
	}
	return worst
}

// join moves from dir to value, both as written.
func join(dir, value string) string {
	if strings.HasPrefix(value, "/") {
		return path.Clean(value)
	}
	return path.Join(dir, value)
}

// within makes a path under root relative to it.
func within(root, full string) string {
	if root == "" || !under(full, root) {
		return full
	}
	if full == root {
		return "."
	}
	return full[len(root)+1:]
}

func placeOf(role, root, dir, value string) string {
	if value == "-" {
		return "null" // standard input or output
	}
	full := strings.ToLower(within(root, join(dir, value)))
	switch {
	case isSecret(full):
		return "secret"
	case strings.HasPrefix(value, "~"):
		return "home"
	case strings.HasPrefix(full, "/"):
		return absolutePlace(full)
	case full == ".." || strings.HasPrefix(full, "../"):
		return "outside"
	case strings.Contains(value, "://"):
		return "remote"
	case slices.Contains(strings.Split(full, "/"), ".git"):
		return "git_dir"
	case role == "write" && artifact.MatchString(full) && !strings.HasPrefix(full, ".") && !strings.Contains(full, "/."):
		return "artifact"
	}
	return "repo"
}

// artifact is a relative path that builds and test runs are expected to write: their own folders, and reports.
var artifact = regexp.MustCompile(`(^|/)(build|dist|target|out|bin|coverage|htmlcov|reports?|test-results?|tmp|\.tmp|_build|node_modules/\.cache|\.coverage)/[^.]|` +
	`(^|/)[a-z0-9_-]*(cover(age)?|c?profile|report|results?|junit|lcov|bench)[a-z0-9_-]*(\.[a-z0-9]+)*\.(out|txt|xml|json|html|info|lcov|log|sarif|prof|test|cov)$|` +
	`(^|/)[a-z0-9_-]+\.(prof|sarif|lcov|cov)$|(^|/)(build|builddir|dist|target|out|coverage|htmlcov|reports?|_build|\.coverage)/?$|^c(over)?\.out$`)

func absolutePlace(full string) string {
	top, _, _ := strings.Cut(full[1:], "/")
	switch {
	case full == devNull:
		return "null"
	case top == "dev":
		return "device"
	case under(full, "/tmp"), under(full, "/var/tmp"), under(full, "/private/tmp"), under(full, "/var/folders"), under(full, "/private/var/folders"):
		if full == "/tmp" || full == "/var/tmp" || full == "/private/tmp" {
			return "tmp"
		}
		return "tmp"
	case top == "home", top == "users", top == "root":
		return "home"
	case slices.Contains(systemTops, top):
		return "system"
	}
	return "unknown"
}

var systemTops = strings.Fields("bin boot etc lib lib32 lib64 libx32 opt proc run sbin srv sys usr var library system applications private cores volumes nix snap mnt media")

func under(full, dir string) bool { return full == dir || strings.HasPrefix(full, dir+"/") }

// Names are matched in lower case: file systems may not tell case apart.
var (
	secretParts = words(`.ssh .aws .gnupg .kube .azure .docker .password-store keychains .gcloud gcloud .config/gh .vault .1password .netlify secrets.d`)
	secretNames = words(`.env .envrc .netrc _netrc .npmrc .pypirc .pgpass .boto .s3cfg .my.cnf .git-credentials .htpasswd .dockercfg .vault-token .yarnrc.yml
		.terraformrc .dockerconfigjson shadow gshadow sudoers master.passwd terraform.tfstate auth.json .bash_history .zsh_history .python_history
		.psql_history .node_repl_history environ passwd .authinfo .fetchmailrc wallet.dat logins.json key4.db cookies.sqlite login.keychain-db`)
	secretName = regexp.MustCompile(`^id_(rsa|dsa|ecdsa|ed25519)|credential|\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc|ovpn|tfvars|mobileprovision)$|` +
		`\.env$|^service[-_]?account.*\.json$|_(rsa|ed25519)$|tfstate(\.backup)?$|^\.?secrets?([-_.].*)?$|^.*[-_.]secrets?\.(ya?ml|json|env|txt|toml|ini|properties)$`)
	envFile     = regexp.MustCompile(`^\.env([._~-].*|\d+)$`)
	envTemplate = regexp.MustCompile(`(example|sample|template|dist|default|defaults|schema|tpl)$`)
	sourceFile  = regexp.MustCompile(`\.(go|ts|tsx|js|jsx|mjs|cjs|py|rs|rb|java|kt|swift|c|cc|cpp|h|hpp|cs|ex|exs|md|rst|adoc|php|scala|sh|sql|html|css|vue|svelte)$`)
	procSecret  = regexp.MustCompile(`^/proc/[^/]+/(task/[^/]+/)?(environ|cmdline|mem|maps|fd|root|cwd)(/|$)`)
)

// isSecret reports a path that may hold a credential. The path is clean and in lower case; it may hold a pattern.
func isSecret(full string) bool {
	if procSecret.MatchString(full) || under(full, "/run/secrets") || under(full, "/var/run/secrets") ||
		strings.HasSuffix(full, ".git/config") || strings.HasSuffix(full, ".config/gh/hosts.yml") {
		return true
	}
	parts := strings.Split(full, "/")
	for i, p := range parts {
		if secretParts[p] && !strings.Contains(p, "/") {
			return true
		}
		if i == len(parts)-1 || strings.HasPrefix(p, ".") {
			if secretBase(p) {
				return true
			}
		}
	}
	return false
}

func secretBase(name string) bool {
	if strings.ContainsAny(name, "*?[") {
		return secretPattern(name)
	}
	switch {
	case secretNames[name]:
		return true
	case envFile.MatchString(name):
		return !envTemplate.MatchString(name) && !sourceFile.MatchString(name)
	}
	return secretName.MatchString(name) && !sourceFile.MatchString(name)
}

func notWild(r rune) rune {
	if strings.ContainsRune("*?[]", r) {
		return -1
	}
	return r
}

var secretSamples = strings.Fields(".env .env.local .env.production prod.env id_rsa id_ed25519 server.key key.pem .npmrc .netrc .pgpass credentials .git-credentials .ssh .aws .gnupg .kube .docker")

// secretPattern reports a pattern that is made to reach a secret. A bare * is not: it means everything.
func secretPattern(name string) bool {
	if strings.Trim(name, "*?.") == "" && !strings.HasPrefix(name, ".") {
		return false
	}
	if strings.HasPrefix(name, ".env") || secretBase(strings.Map(notWild, name)) {
		return true
	}
	for _, s := range secretSamples {
		if ok, err := path.Match(name, s); ok || err != nil {
			return true
		}
	}
	return false
}
