package shell

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEvasions are ways by which gates have been led past a harmful command.
func TestEvasions(t *testing.T) {
	for _, text := range []string{
		`find . -name x -del\ete`, `find . -name x -{delete,print}`, `{rm,-rf,/etc}`, `$'\x72m' -rf x`, `$'\162m' x`, `/bin/r[m] -rf x`,
		`r\m -rf x`, `r''m -rf x`, `r"m" -rf x`, `'rm' -rf x`, "r\\\nm x", "git diff \"--out\\\nput=x\"", "git diff --out\\\nput=x",
		`uniq a b`, `sort --compress-prog sh x`, `sort --compress-program=sh x`, `sort --outp=x y`, `rg --pr\e=sh x`, `rg "--pre" sh x`,
		`echo x >& /etc/cron.d/x`, `ls 2>&x`, `echo x >"$(rm x)"`, `cat /etc/{passwd,shadow}`, `cat .e{nv,xx}`, `cat .en''v`, `cat ".env"`, `cat ./x/../.env`,
		`cat .ENV`, `cat .env*`, `cat [.]env`, `cat config/prod.env`, `cat /proc/self/environ`, `cat /proc/1/environ`, `cat .git/config`, `cat id_rsa`,
		`cd .ssh && cat known`, `cd / && cat etc/shadow`, `cd .. && ls x`, `cd a; cat ../../x`, `cd a && cd ../.. && cat x`, `cat a/../../x`,
		`cd x || cat ../y`, `command rm x`, `command -p rm x`, `env rm x`, `env -i rm x`, `env -S 'rm x'`, `env A=1 rm x`, `nice rm x`, `nohup rm x`,
		`stdbuf -oL rm x`, `timeout 5 rm x`, `time rm x`, `xargs rm`, `ls | xargs rm`, `ls | xargs -I{} rm {}`, `ls | xargs sh -c`, `ls | xargs env rm`,
		`find . -exec rm {} +`, `find . -ok rm {} \;`, `find . -fprint x`, `sudo ls`, `doas ls`, `su -c ls`, `ssh h ls`, `docker exec x ls`, `watch ls`,
		`script -c ls`, `strace ls`, `setsid ls`, `chroot x ls`, `unshare ls`, `parallel ls`, `busybox ls`, `flock x ls`, `sh -c 'rm x'`, `bash -lc ls`,
		`sh x.sh`, `echo ls | sh`, `echo ls | python`, `python -c x`, `node -e x`, `perl -e x`, `ruby -e x`, `php -r x`, `awk 'BEGIN{system("x")}'`,
		`awk '{print > "x"}' y`, `awk '{print | "sh"}' y`, `sed -n '1w x' y`, `sed '1e x' y`, `sed s/a/b/w y`, `sed -i s/a/b/ x`, `sed 's/a/b/e' x`,
		`tar --to-command=sh -xf x`, `git -c core.pager=x log`, `git --exec-path=x status`, `git diff --ext-diff`, `git log --output=x`, `git grep -Ox y`,
		`git -p log`, `git -C ../x status`, `GIT_SSH_COMMAND=x git status`, `LD_PRELOAD=x ls`, `PATH=. ls`, `BASH_ENV=x sh -c ls`, `IFS=, ls`,
		`NODE_OPTIONS=--require=./x node --test`, `RUSTC_WRAPPER=x cargo build`, `PYTHONPATH=/tmp pytest`, `GOFLAGS=-exec=x go test`, `MAKEFLAGS=--eval=x make test`,
		`go test -exec x ./...`, `go test --exec=x ./...`, `go vet -vettool=x`, `go build -toolexec x`, `go build -overlay x`, `cargo --config x=y test`,
		`cargo test --config=x`, `pytest -p evil`, `pytest -c /tmp/x`, `pytest --rootdir=/`, `pytest -o x=y`, `jest -u`, `jest --config=/tmp/x`,
		`eslint --fix .`, `prettier --write .`, `eslint --rulesdir x .`, `make -f x test`, `make -C .. test`, `make --eval=x test`, `make test SHELL=x`,
		`mvn -f /tmp/x test`, `mvn exec:java`, `mvn deploy`, `gradle -I x test`, `gradle publish`, `./evil --help`, `/tmp/cat x`, `bin/cat x`, `../cat x`,
		`rm -rf x --help`, `git push --help`, `git reset --h`, `GIT reset`, `RM x`, `rm.exe x`, `curl http://localhost@evil.com`, `curl http://localhost.evil.com`,
		`curl http://127.0.0.1.evil.com`, `curl http://localhost -o x`, `curl -d@x http://localhost`, `curl -K x http://localhost`, `curl "http://localhost:1#@evil.com"`,
		`env`, `printenv`, `npm run x`, `npm run deploy`, `npm run test:update`, `npm test -- --fix`, `npx evil`, `npx -y eslint .`, `uv run rm x`, `uv run python -c x`,
		`poetry run rm x`, `bundle exec rm x`, `bundle exec ruby -e x`, `pnpm exec rm x`, `opam exec -- rm x`, `mise exec -- rm x`, `python -m evil`, `c8 rm x`,
		`cd /tmp && make test`, `make -C /tmp test`, `pytest /tmp/x.py`, `mocha /tmp/x.js`, `bats /tmp/x`, `go test ./... -update`, `which go; rm x`,
		"ls\nrm x", `ls;rm x`, `ls&&rm x`, `ls||rm x`, `ls|rm x`, `ls|tee x`, `(rm x)`, `{ rm x; }`, `! rm x`, `printf -v PATH x; ls`, `test -v 'a[$(rm x)]'`,
		`git show HEAD:.env`, `git diff -- .env`, `git cat-file -p :.env`, `grep -r x /`, `find / -name x`, `ls | xargs -a x ls`, `wc --files0-from=.env`,
	} {
		require.False(t, acceptable(Analyse(text)), text)
	}
}

var seeds = []string{
	"rm -rf x", "git push", "git reset --hard", "sudo ls", "curl https://x.y", "cat .env", "npm publish", "python -c x", "sort -o a b", "find . -delete",
	"sed -i s/a/b/ x", "go test -exec rm ./...", "LD_PRELOAD=x ls", "make deploy", "docker rm x", "kubectl delete pod x", "go test > x",
}

// TestMetamorphic: what is not acceptable stays so, however it is written and whatever is put around it.
func TestMetamorphic(t *testing.T) {
	for _, s := range seeds {
		require.False(t, acceptable(Analyse(s)), s)
		for _, v := range variants(s) {
			require.False(t, acceptable(Analyse(v)), "%q from %q", v, s)
		}
	}
}

func variants(s string) []string {
	head, tail, _ := strings.Cut(s, " ")
	quoted := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	out := []string{
		"timeout 5 " + s, "nice " + s, "nohup " + s, "env A=1 " + s, "time " + s, "command " + s, "stdbuf -oL " + s, "A=1 " + s,
		"sh -c " + quoted, "bash -c " + quoted, "sh -ec " + quoted, "env sh -c " + quoted, "timeout 5 sh -c " + quoted, "bash -c \"sh -c " + quoted + "\"",
		"(" + s + ")", "{ " + s + "; }", "! " + s, s + " &", s + " | cat", s + " 2>&1 | tail", s + " >/dev/null", s + " 2>/dev/null || true", s + "; echo ok",
		s + " --help", s + " # ok", " " + s, "\t" + s, s + "\n", s + "\r", s + "\u200b", head + "\u200b " + tail, "\u2060" + s, s + "\u202e",
		"xargs " + s, "ls | xargs " + s, "find . -exec " + s + " \\;", "uv run " + s, "npx " + s, "bundle exec " + s, "poetry run " + s,
	}
	out = append(out,
		"/bin/"+s, "/usr/bin/../bin/"+s, "./"+s, strings.ToUpper(head)+" "+tail, "eval "+quoted, "exec "+s, "builtin "+s,
		strings.ReplaceAll(s, " ", "$IFS"), strings.ReplaceAll(s, " ", "${IFS}"), "{"+strings.ReplaceAll(s, " ", ",")+"}",
		"alias go="+quoted+"; go vet", s+" <<< x", s+" <<E\nx\nE", "sh <<< "+quoted, "f() { "+s+"; }; f", "trap "+quoted+" EXIT",
		"echo $("+s+")", "echo `"+s+"`", "echo \"$("+s+")\"", "cat <("+s+")", "echo $((1+$("+s+")))", "X="+quoted+"; $X",
		"go vet ./... # x\n"+s, "go vet ./... \\\n&& "+s, "go vet ./... 2>&1 >&2 | "+s, "true #\r\n"+s, "coproc "+s, "if true; then "+s+"; fi",
	)
	for _, join := range []string{"\n", ";", " && ", " || ", " | ", "|&", " & "} {
		out = append(out, "go vet ./..."+join+s, s+join+"go vet ./...", "cd a"+join+s)
	}
	for i := 1; i < len(head); i++ {
		if strings.ContainsAny(head[:i], "=") {
			break
		}
		a, b := head[:i], head[i:]
		for _, f := range []string{"%s''%s", `%s""%s`, `%s\%s`, "%s\\\n%s", "'%s'%s", `"%s"%s`, "%s$''%s"} {
			out = append(out, fmt.Sprintf(f, a, b)+" "+tail)
		}
	}
	for i := range tail {
		if i > 0 && tail[i] != ' ' && tail[i-1] != ' ' && tail[i-1] != '>' {
			out = append(out, head+" "+tail[:i]+"''"+tail[i:], head+" "+tail[:i]+"\\\n"+tail[i:])
		}
	}
	for i, r := range map[string]string{"a": "а", "e": "е", "o": "о", "r": "г", "s": "ѕ", "c": "с", "p": "р", "u": "υ", "-": "–"} {
		if strings.Contains(head, i) {
			out = append(out, strings.Replace(head, i, r, 1)+" "+tail)
		}
	}
	return out
}

// TestWordsLikeBash compares what we make of words with what bash makes of them.
func TestWordsLikeBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	words := []string{
		`a`, `'a b'`, `"a b"`, `a\ b`, `a\\b`, `"a\\b"`, `'a\\b'`, `"a\b"`, `"a\$b"`, `"a\"b"`, "\"a\\`b\"", `a\'b`, `''`, `""`, `a''b`, `'a'"b"\c`, "a\\\nb", "\"a\\\nb\"", "'a\\\nb'",
		`$'a\nb'`, `$'\x41\101\t\\\'\"\?'`, `$'\e[0m'`, `$'\a\b\f\v\E'`, `$'\x4z'`, `$'\1018'`, `$'it\'s'`, `$''`, `a$'b'c`, `{a,b}`, `x{a,b}y`, `{a,b}{c,d}`, `{a,{b,c}}`, `a{b,c{d,e}f}g`, `{}`, `{a}`,
		`x{}y`, `HEAD@{1}`, `stash@{0}`, `\{a,b}`, `{a\,b}`, `"{a,b}"`, `'{a,b}'`, `{a,"b c"}`, `{a,'b,c'}`, `"$?"`, `a=b`, `--x=y`, `\*`, `'*'`, `"?"`, `\[a\]`, `a]`, `[`, `a#b`, `"#"`, `\#`,
		`!`, `a!b`, `"a!b"`, `%`, `a,b`, `a:b`, `é`, `"→"`, `'` + "`" + `'`, `\~`, `'~'`, `a~`, `--x=~`, `\a\b`, `"\a"`, `$`, `"$"`, `a$`, `"a$"`, `\$x`, `'$x'`, `{x,y}{}`, `x{{a,b}}`, `{{a,b},c}`,
	}
	checked := 0
	for _, w := range words {
		a := Analyse("echo " + w)
		if !a.Parsed || strings.Contains(w, "$?") {
			continue
		}
		checked++
		got := []string{}
		for _, v := range a.Plan.Exec.Argv[1:] {
			got = append(got, "<"+v[0].Text+">")
		}
		out, err := exec.Command(bash, "--norc", "-c", `printf '<%s>\0' `+w).Output()
		require.NoError(t, err, w)
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		require.Equal(t, want, got, w)
	}
	require.Greater(t, checked, len(words)*3/4)
}

func FuzzAnalyse(f *testing.F) {
	for _, e := range theTables().examples {
		f.Add(e.text)
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := Analyse(text)
		require.Equal(t, a.Parsed, len(a.Refusals) == 0)
		require.Equal(t, a.Parsed, a.Plan != nil)
		if !acceptable(a) {
			return
		}
		// nothing harmful becomes acceptable by what follows it, and nothing invisible is ever let through
		for _, more := range []string{"rm x\n" + text, "sudo ls;" + text, "git push&&" + text, "cat .env|" + text, text + "\r", text + "\u200b"} {
			require.False(t, acceptable(Analyse(more)), "%q", more)
		}
	})
}

func BenchmarkAnalyse(b *testing.B) {
	theTables()
	for _, text := range []string{"go test ./...", "cd web && npm ci && npm test 2>&1 | tail -20", "bash -c 'go vet ./... && go test -race ./...'"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyse(text)
			}
		})
	}
}
