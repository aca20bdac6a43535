package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	for text, want := range map[string]string{
		"go test ./...":                    "go test ./... *",
		"go vet ./... && go test ./...":    "and(go vet ./... *, go test ./... *)",
		"a && b && c":                      "and(a, b, c)",
		"a && b || c":                      "or(and(a, b), c)",
		"a || b && c":                      "and(or(a, b), c)",
		"a; b\nc":                          "seq(a, b, c)",
		"! grep -q x f":                    "not(grep -q x f *)",
		"! a | b":                          "not(pipe(a, b))",
		"a | b | c":                        "pipe(a, b, c)",
		"a |& b":                           "pipe(a 2>&1, b)",
		"a >/dev/null |& b":                "pipe(a 1>/dev/null 2>&1, b)",
		"(cd web && npm test)":             "sub(and(@cd cd web, npm test *))",
		"{ a; b; }":                        "seq(a, b)",
		"(a; b) 2>/dev/null":               "sub(seq(a 2>/dev/null, b 2>/dev/null))",
		"(a | b) >/dev/null 2>&1":          "sub(pipe(a 2>/dev/null, b 1>/dev/null 2>/dev/null))",
		"a >/dev/null 2>&1":                "a 1>/dev/null 2>&1",
		"a 2>&1 >/dev/null":                "a 2>&1 1>/dev/null",
		"a &>/dev/null":                    "a 1>/dev/null 2>/dev/null",
		"a <in.txt":                        "a 0<in.txt",
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
		"a | b; echo ${PIPESTATUS[0]} $PIPESTATUS": "seq(pipe(a, b), echo $pipestatus0 $pipestatus0)",
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
		"echo $(git push)":                    "network_write",
		"if true; then docker run x; fi":      "container",
		"f() { sudo ls; }; f":                 "privilege",
		"bash -c 'for x in a; do rm x; done'": "delete",
		"cat <<E\n$(npm publish)\nE":          "publish",
		"cat <(curl https://x.y)":             "network",
		"(rm -rf x) &":                        "delete",
		"export A=1":                          "config",
		"ls > x; kill 1":                      "kill",
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
