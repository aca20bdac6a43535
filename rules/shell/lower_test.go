package shell

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	for text, want := range map[string]string{
		"go test ./...":                    "go test ./... *",
		"go vet ./... && go test ./...":    "and(go vet ./... *, go test ./... *)",
		"a && b && c":                      "and(a *, b *, c *)",
		"a && b || c":                      "or(and(a *, b *), c *)",
		"a || b && c":                      "and(or(a *, b *), c *)",
		"a; b\nc":                          "seq(a *, b *, c *)",
		"! grep -q x f":                    "not(grep -q x f *)",
		"! a | b":                          "not(pipe(a *, b *))",
		"a | b | c":                        "pipe(a *, b *, c *)",
		"a |& b":                           "pipe(a 2>&1 *, b *)",
		"a >/dev/null |& b":                "pipe(a 1>/dev/null 2>&1 *, b *)",
		"(cd web && npm test)":             "sub(and(@cd cd web, npm test *))",
		"{ a; b; }":                        "seq(a *, b *)",
		"(a; b) 2>/dev/null":               "sub(seq(a 2>/dev/null *, b 2>/dev/null *))",
		"(a | b) >/dev/null 2>&1":          "sub(pipe(a 2>/dev/null *, b 1>/dev/null 2>/dev/null *))",
		"a >/dev/null 2>&1":                "a 1>/dev/null 2>&1 *",
		"a 2>&1 >/dev/null":                "a 2>&1 1>/dev/null *",
		"a &>/dev/null":                    "a 1>/dev/null 2>/dev/null *",
		"a <in.txt":                        "a 0<in.txt *",
		"echo hi >&2":                      "echo hi 1>&2",
		"CI=1 npm test":                    "CI=1 npm test *",
		"time make test":                   "make test *",
		"command go test .":                "go test . *",
		"timeout 60 npm test":              "timeout 60 npm test *",
		"env CI=1 npm test":                "env CI=1 npm test *",
		"ls *.go":                          "ls <*.go> *",
		`ls 'a*'*.go`:                      `ls <a\**.go> *`,
		"grep -r x --include=*.go .":       "grep -r x --include=*.go . *",
		"go test ./...; echo \"exit: $?\"": `seq(go test ./... *, echo "exit: $status")`,
		"a | b; echo ${PIPESTATUS[0]} $PIPESTATUS": "seq(pipe(a *, b *), echo $pipestatus0 $pipestatus0)",
		"command -v go":      "@lookup command -v go *",
		"type -a go":         "@lookup type -a go *",
		": ":                 "@true :",
		"sh -c 'cd a && ls'": "sub(and(@cd cd a, ls *))",
		"CI=1 bash -c 'npm test; ls' 2>/dev/null":    "sub(seq(CI=1 npm test 2>/dev/null *, CI=1 ls 2>/dev/null))",
		"timeout 9 sh -c 'npm test'":                 "sub(timeout 9 npm test *)",
		"set -euo pipefail; go vet ./...; go test .": "and(go vet ./... *, go test . *)",
		"bash -ec 'go vet ./...\ngo test .'":         "sub(and(go vet ./... *, go test . *))",
		"ls a{b,c}d {x,y}":                           "ls abd acd x y *",
		"# nothing\nls # more":                       "ls *",
	} {
		a := Analyse(text)
		require.Empty(t, a.Refusals, text)
		require.Equal(t, want, a.Plan.String(), text)
	}
}

func TestRefusals(t *testing.T) {
	deep := strings.Repeat("(", 40) + "ls" + strings.Repeat(")", 40)
	for text, want := range map[string]string{
		"":                        "empty",
		"# only a comment":        "empty",
		"ls\x00rm":                "control_character",
		"ls\r":                    "control_character",
		"ls \x1b[0m":              "control_character",
		"ls\u0085":                "control_character",
		"ls \u200b":               "invisible_character",
		"ls \u202e":               "invisible_character",
		"ls\u00a0-l":              "odd_space",
		"ls\u3000-l":              "odd_space",
		"ls \xff":                 "not_utf8",
		"lѕ":                      "non_ascii_command",
		strings.Repeat("a", 9000): "too_long",
		deep:                      "too_deep",
		strings.Repeat("ls;", 70): "too_many_calls",
		"ls (":                    "syntax",
		"ls 'x":                   "syntax",
		"for f in *; do ls; done": "loop",
		"while true; do ls; done": "loop",
		"for ((;;)); do ls; done": "loop",
		"if ls; then ls; fi":      "if",
		"case x in x) ls;; esac":  "case",
		"f() { ls; }":             "function",
		"function f { ls; }":      "function",
		"((1+1))":                 "arithmetic",
		"let x=1":                 "arithmetic",
		"[[ -f x ]]":              "test_clause",
		"export A=1":              "declaration",
		"declare -x A=1":          "declaration",
		"A=1":                     "assignment",
		"A+=1 ls":                 "assignment",
		"A=(1 2)":                 "assignment",
		"coproc ls":               "coprocess",
		"ls &":                    "background",
		"ls & ls":                 "background",
		"ls > out":                "redirect_write",
		"ls >> out":               "redirect_write",
		"ls >| out":               "redirect_write",
		"ls >& out":               "redirect_write",
		"ls &> out":               "redirect_write",
		"ls 2> err":               "redirect_write",
		"ls 3>/dev/null":          "redirect_descriptor",
		"ls 2>&3":                 "redirect_write",
		"ls 2>&-":                 "redirect_write",
		"ls <>x":                  "redirect",
		"cat <<E\nx\nE":           "heredoc",
		"cat <<'E'\nx\nE":         "heredoc",
		"cat <<<x":                "here_string",
		"> out":                   "redirect_only",
		"ls $HOME":                "parameter",
		"ls ${HOME}":              "parameter",
		"ls \"$X\"":               "parameter",
		"ls $1":                   "parameter",
		"ls $@":                   "parameter",
		"ls ${PIPESTATUS[@]}":     "parameter",
		"ls ${x@P}":               "parameter",
		"ls ${!x}":                "parameter",
		"ls $(pwd)":               "command_substitution",
		"ls `pwd`":                "command_substitution",
		"ls <(pwd)":               "process_substitution",
		"ls $((1))":               "arithmetic",
		"ls $[1]":                 "arithmetic",
		"ls @(a|b)":               "extglob",
		"ls ~":                    "tilde",
		"ls ~/x":                  "tilde",
		"A=~/x ls":                "tilde",
		"A=b:~/x ls":              "tilde",
		"ls {a,~}":                "tilde",
		"ls {1..3}":               "brace",
		"ls {a,b":                 "brace",
		"ls {a,}":                 "brace",
		`ls $"x"`:                 "locale_string",
		`ls $'\u0041'`:            "ansi_c",
		`ls $'\0'`:                "ansi_c",
		"/bin/r[m] x":             "glob_command",
		"$? x":                    "dynamic_command",
		"'' x":                    "empty_command",
		"-x":                      "empty_command",
		"ls -*":                   "glob_flag",
		"eval ls":                 "builtin",
		"exec ls":                 "builtin",
		". x":                     "builtin",
		"source x":                "builtin",
		"trap ls EXIT":            "builtin",
		"alias ls=rm":             "builtin",
		"read x":                  "builtin",
		"set -- a":                "builtin",
		"unset PATH":              "builtin",
		"shopt -s extglob":        "builtin",
		"builtin cd x":            "builtin",
		"wait":                    "builtin",
		"exit 0":                  "builtin",
		"cd":                      "cd",
		"cd -":                    "cd",
		"cd a b":                  "cd",
		"cd a*":                   "cd",
		"cd a | ls":               "pipe_cd",
		"(a; b) | c":              "pipe_group",
		"{ a; b; } | c":           "pipe_group",
		"(a | b) 2>&1":            "redirect_group",
		"(a; b) <x":               "redirect_group",
		"set -e; a && b; c":       "errexit",
		"set -o pipefail; a | b":  "pipefail",
		"timeout 5 sh -c 'a; b'":  "wrapped_shell",
		"sh -c 'sh -c \"sh -c \\\"sh -c ls\\\"\"'": "too_many_shells",
		"sh -c 'for x in y; do ls; done'":          "loop",
		"time":                                     "time",
	} {
		a := Analyse(text)
		require.NotEmpty(t, a.Refusals, text)
		codes := []string{}
		for _, r := range a.Refusals {
			codes = append(codes, r.Code)
		}
		require.Contains(t, codes, want, text)
		require.False(t, a.Parsed, text)
		require.Nil(t, a.Plan, text)
	}
}

func TestRefusalPosition(t *testing.T) {
	a := Analyse("ls &&\n  cat $(rm x)")
	require.Equal(t, []Refusal{{Code: "command_substitution", Line: 2, Col: 7, Word: "$(rm x)"}}, a.Refusals)
}

// TestSalvage: what is inside a construct that has no plan is still seen.
func TestSalvage(t *testing.T) {
	for text, want := range map[string]string{
		"for f in *; do rm $f; done":          "delete",
		"echo $(git push)":                    "publish",
		"if true; then docker run x; fi":      "container",
		"f() { sudo ls; }; f":                 "privilege",
		"bash -c 'for x in a; do rm x; done'": "delete",
		"cat <<E\n$(npm publish)\nE":          "publish",
		"cat <(curl https://x.y)":             "network",
		"(rm -rf x) &":                        "delete",
		"export A=1":                          "config",
		"ls > x; kill 1":                      "kill",
		"rm -rf x 'unterminated":              "delete",
		"x=$(sudo rm -rf y)":                  "privilege",
	} {
		a := Analyse(text)
		require.False(t, a.Parsed, text)
		var effects []string
		for _, c := range a.Calls {
			effects = append(effects, c.Effects...)
		}
		require.Contains(t, effects, want, text)
	}
}

func TestStatus(t *testing.T) {
	for text, want := range map[string]struct{ vacuous, masks bool }{
		"go test ./...":                      {false, false},
		"go test ./... | tail":               {false, true},
		"go test ./... | grep -q ok":         {false, true},
		"go test ./... || true":              {false, true},
		"go test ./... || echo failed":       {false, true},
		"go test ./... || false":             {false, false},
		"go test ./... || (echo no; false)":  {false, false},
		"go test ./...; echo $?":             {false, true},
		"go test ./... && echo ok":           {false, false},
		"cd web && npm test":                 {false, false},
		"go vet ./...; go test ./...":        {false, true},
		"go vet ./... && go test ./...":      {false, false},
		"! go test ./...":                    {false, true},
		"! grep -q x f":                      {false, false},
		"cat x | grep -q y":                  {false, false},
		"ls; go test ./...":                  {false, false},
		"wc -l x | sort":                     {true, false},
		"sort x":                             {false, false},
		"echo hi":                            {true, false},
		"true && cd x && pwd":                {true, false},
		"test -f x":                          {false, false},
		"test -f x; test -f y":               {false, true},
		"(go test ./...)":                    {false, false},
		"timeout 60 go test ./...":           {false, false},
		"go test ./... && git diff --quiet":  {false, false},
		"go test --help":                     {true, false},
		"for x in y; do go test ./...; done": {false, true},
	} {
		a := Analyse(text)
		require.Equal(t, want.vacuous, a.Vacuous, text)
		require.Equal(t, want.masks, a.MasksExit, text)
	}
}

func TestFacts(t *testing.T) {
	one := func(text string) Call {
		a := Analyse(text)
		require.Empty(t, a.Refusals, text)
		require.NotEmpty(t, a.Calls, text)
		return a.Calls[len(a.Calls)-1]
	}
	c := one("FOO=1 timeout 60 uv run python3 -m pytest -q tests/test_x.py --cov=pkg 2>/dev/null")
	require.Equal(t, []string{"timeout", "uv run", "python -m"}, c.Wrappers)
	require.Equal(t, "pytest", c.Tool)
	require.Equal(t, "check", c.Class)
	require.Equal(t, []string{"--cov", "-q"}, c.Flags)
	require.Equal(t, []EnvVar{{Name: "FOO", Value: "1", Class: "custom"}}, c.Env)
	require.Equal(t, []Redirect{{Op: "2>", Place: "null", Value: "/dev/null"}}, c.Redirs)
	require.True(t, c.Known)
	require.True(t, c.Verifies)

	require.Equal(t, "git stash list", one("git --no-pager stash list").Command)
	require.Equal(t, []string{"vcs_write"}, one("git stash").Effects)
	require.Equal(t, []string{"publish"}, one("git push origin main").Effects)
	require.Equal(t, "test:unit", one("npm run test:unit").Script)
	require.Equal(t, "./scripts/test.sh", one("./scripts/test.sh").Script)
	require.Equal(t, "unknown", one("frobnicate --all").Class)
	require.Equal(t, "absolute", one("/usr/bin/git status").PathKind)
	require.Equal(t, []string{"secret"}, one("grep x < .env").Effects)
	require.Equal(t, []Operand{{Value: "../x", Role: "read", Place: "outside"}}, one("cat ../x").Operands)
	require.Equal(t, "repo", one("cd web && cat ../x").Operands[0].Place)
	require.Equal(t, "outside", one("cd web; cat ../x").Operands[0].Place)
	require.Equal(t, "steering", one("GIT_DIR=x git status").Env[0].Class)
	require.Contains(t, one("find . -name '*.go' -exec gofmt -l {} +").Wrappers, "find -exec")
}

// TestListsAreNeverNull: rules ask about every field of every call.
func TestListsAreNeverNull(t *testing.T) {
	for _, text := range []string{"ls", "cd x", ": x", "for x in y; do ls; done", "ls '", "export A", "sh -c ls", "(ls)", "x=1", "ls\r"} {
		data, err := json.Marshal(Analyse(text))
		require.NoError(t, err)
		require.NotContains(t, string(data), "null,", text)
	}
}

func TestRoot(t *testing.T) {
	for text, want := range map[string]bool{
		"cd /home/me/repo && go test ./...":              true,
		"cd /home/me/repo/web && npm test":               true,
		"cat /home/me/repo/go.mod":                       true,
		"cd /home/me/repo/web && cat ../go.mod":          true,
		"cd /home/me/repo && cat ../x":                   false,
		"cd /home/me/repository && go test ./...":        false,
		"cd /home/me/repo/../other && go test ./...":     false,
		"cd /home/me && go test ./...":                   false,
		"cat /home/me/repo/.env":                         false,
		"cd /home/me/repo/.git && cat config":            false,
		"sh -c 'cd /home/me/repo && go test ./...'":      true,
		"cd /home/me/repo && go build -o /home/me/x .":   false,
		"cd /home/me/repo || go test ./...":              true,
		"cd /home/me/other; cd /home/me/repo; make test": false,
	} {
		require.Equal(t, want, acceptable(AnalyseIn("/home/me/repo", text)), "%s: %s", text, whyNot(AnalyseIn("/home/me/repo", text)))
		require.False(t, strings.Contains(text, "/home") && acceptable(Analyse(text)), text)
	}
	require.False(t, acceptable(AnalyseIn("/", "cat /x")))
	require.False(t, acceptable(AnalyseIn("/home", "cat /home/x")))
	require.False(t, acceptable(AnalyseIn("home/me", "cat home/../../x")))
}
