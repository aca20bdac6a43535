package runner

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A redactor takes secrets out of text that will be kept. It works on text that has been matched already: what a secret
// hides must not change a result.
type redactor struct {
	exact *strings.Replacer // nil when there is nothing to look for
	full  []string
}

// minSecretBytes keeps short values, such as "true" or "1234", from tearing holes in every output.
const minSecretBytes = 8

// newRedactor makes one that also knows the values of the secrets that were kept from the command's environment: it may
// have read them elsewhere.
func newRedactor(secrets []string) *redactor {
	r := new(redactor)
	for _, s := range secrets {
		if len(s) >= minSecretBytes {
			r.full = append(r.full, s)
		}
	}
	// Longest first: one secret may be the start of another.
	slices.SortFunc(r.full, func(a, b string) int { return len(b) - len(a) })
	if len(r.full) > 0 {
		var pairs []string
		for _, s := range r.full {
			pairs = append(pairs, s, mask("environment"))
		}
		r.exact = strings.NewReplacer(pairs...)
	}
	return r
}

func mask(rule string) string { return "«redacted:" + rule + "»" }

// text is s without the secrets that are known by value or by shape.
func (r *redactor) text(s string) string {
	if r.exact != nil {
		s = r.exact.Replace(s)
	}
	for _, rule := range secretRules() {
		if rule.mayMatch(s) {
			s = rule.re.ReplaceAllString(s, rule.with)
		}
	}
	if mayAssign(s) {
		s = redactAssignments(s)
	}
	return s
}

// edges is text for the two halves of an output whose middle was left out: a secret by value may have been cut in two.
func (r *redactor) edges(head, tail string) (string, string) {
	for _, s := range r.full {
		for n := len(s) - 1; n >= minSecretBytes; n-- {
			if strings.HasSuffix(head, s[:n]) {
				head = head[:len(head)-n] + mask("environment")
			}
			if strings.HasPrefix(tail, s[len(s)-n:]) {
				tail = mask("environment") + tail[n:]
			}
		}
	}
	return r.text(head), r.text(tail)
}

// A secretRule knows one kind of secret by its shape.
type secretRule struct {
	needles []string // one of them is in every match; looking for them is cheap
	re      *regexp.Regexp
	with    string
}

func (r secretRule) mayMatch(s string) bool {
	return slices.ContainsFunc(r.needles, func(n string) bool { return strings.Contains(s, n) })
}

var secretRules = sync.OnceValue(func() []secretRule {
	rule := func(name, expr string, needles ...string) secretRule {
		return secretRule{needles: needles, re: regexp.MustCompile(expr), with: mask(name)}
	}
	url := rule("url_password", `([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:"']*:[^\s/@"']+@`, "://")
	url.with = "${1}" + mask("url_password") + "@"
	bearer := rule("authorization", `(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}`,
		"earer", "EARER", "asic ", "ASIC ")
	bearer.with = "${1}" + mask("authorization")
	return []secretRule{
		// A block may have lost its end or its beginning where the middle of the output was left out.
		rule("private_key",
			`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`,
			"-----BEGIN "),
		rule("private_key", `(?s)\A.*?-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`, "-----END "),
		url,
		bearer,
		rule("aws_key", `\b(AKIA|ASIA)[A-Z0-9]{16}\b`, "AKIA", "ASIA"),
		rule("github_token", `\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`,
			"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		rule("gitlab_token", `\bglpat-[A-Za-z0-9_-]{16,}`, "glpat-"),
		rule("slack_token", `\bxox[a-z]-[A-Za-z0-9-]{10,}`, "xox"),
		rule("api_key", `\bsk-[A-Za-z0-9_-]{20,}`, "sk-"),
		rule("stripe_key", `\b[rs]k_live_[A-Za-z0-9]{16,}`, "k_live_"),
		rule("google_key", `\bAIza[A-Za-z0-9_-]{35}`, "AIza"),
		rule("npm_token", `\bnpm_[A-Za-z0-9]{30,}`, "npm_"),
		rule("jwt", `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`, "eyJ"),
	}
})

var secretWords = []string{
	"token", "secret", "passw", "api_key", "apikey", "api-key", "access_key", "accesskey", "private_key", "privatekey",
	"credential", "authorization",
}

func mayAssign(s string) bool {
	lower := strings.ToLower(s)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(lower, w) })
}

var assignment = sync.OnceValue(func() *regexp.Regexp {
	const name = `[a-z0-9_.-]*(?:token|secret|passw(?:or)?d|api[_-]?key|access_?key|private_?key|credentials?|authorization)[a-z0-9_.-]*`
	const join = `["']?[ \t]*(?:=|:|=>)[ \t]*`
	const value = `"[^"\n]*"|'[^'\n]*'|[^\s"']+`
	return regexp.MustCompile(`(?i)(` + name + `)(` + join + `)(` + value + `)`)
})

var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9:.,()]*$`) })

// redactAssignments masks the value in NAME=value and NAME: value where the name says that it is secret. Prose such as
// "unexpected token: foo" and positions such as "token_test.go:12:3:" look the same and are left alone.
func redactAssignments(s string) string {
	re := assignment()
	return re.ReplaceAllStringFunc(s, func(m string) string {
		sub := re.FindStringSubmatch(m)
		name, join, value := sub[1], sub[2], sub[3]
		bare := strings.Trim(value, `"'`)
		quoted := bare != value
		switch {
		case strings.HasPrefix(bare, "«redacted:"), position().MatchString(bare):
			return m
		case len(bare) < 6 && !(strings.Contains(join, "=") && bare != ""):
			return m
		case strings.Contains(join, ":") && !quoted && onlyLetters(bare):
			return m
		case bare == "true", bare == "false", bare == "null", bare == "None", bare == "undefined", bare == "=":
			return m
		}
		return name + join + mask("assignment")
	})
}

func onlyLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
}

// secretName says whether a variable of this name holds a secret, as far as a name can tell.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, w := range []string{"TOKEN", "SECRET", "PASSW", "APIKEY", "CREDENTIAL"} {
		if strings.Contains(upper, w) {
			return true
		}
	}
	for part := range strings.SplitSeq(upper, "_") {
		switch part {
		case "KEY", "PASS", "AUTH", "PAT", "DSN":
			return true
		}
	}
	return false
}
