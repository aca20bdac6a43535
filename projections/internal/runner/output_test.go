package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// captured feeds an output to a capture in chunks of a size, as stdout of a command.
func captured(output string, chunk int, expects ...Expect) (*stream, *capture) {
	c := &capture{limit: 1 << 60, report: newAnalysis(&planNothing)}
	s := newStream(os.Stdin, "stdout", expects, true)
	for len(output) > 0 {
		n := min(chunk, len(output))
		c.take(s, []byte(output[:n]))
		output = output[n:]
	}
	s.lines.end(c.lineOf(s))
	return s, c
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\n":                   "plain\ttext\r\n",
		"\x1b[1;31mred\x1b[0m":              "red",
		"a\x1b]0;title\x07b":                "ab",
		"a\x1b]8;;http://x\x1b\\link":       "alink",
		"cut \x1b]0;never ends\nnext":       "cut \nnext",
		"\x1b(Bcharset\x1b=":                "charset",
		"bell\x07 back\x08 nul\x00":         "bell back nul",
		"\u009b31mc1":                       "c1",
		"bad \xff\xfe utf8":                 "bad \uFFFD\uFFFD utf8",
		"end \x1b":                          "end ",
		"end \x1b[":                         "end ",
		"ünï ✓":                             "ünï ✓",
		"half \xe2\x9c":                     "half \uFFFD\uFFFD",
		"\x1b[38;2;1;2;3mtrue\x1b[K colour": "true colour",
		"\x1b[2J\x1b[Hcleared\x1b[?25l":     "cleared",
		"dcs \x1bP1$r0m\x1b\\after":         "dcs after",
		"private \x1b[>4;2mmode":            "private mode",
		"del \x7f gone":                     "del  gone",
	} {
		require.Equal(t, want, plain(in), "%q", in)
	}
}

func TestKeptText(t *testing.T) {
	none := newRedactor(nil)
	keep := func(s string) (string, bool) {
		var k keeper
		for _, r := range chunks(s, 7000) {
			k.take([]byte(r))
		}
		return k.text(none)
	}
	whole := strings.Repeat("0123456789abcde\n", keepHead/16) + strings.Repeat("tail tail tail!\n", keepTail/16)
	text, truncated := keep(whole)
	require.Equal(t, whole, text)
	require.False(t, truncated)

	text, truncated = keep("first\n" + strings.Repeat("x\n", 100_000) + "last\n")
	require.True(t, truncated)
	require.True(t, strings.HasPrefix(text, "first\n"))
	require.True(t, strings.HasSuffix(text, "x\nlast\n"))
	require.Regexp(t, `\nx\n… 1\d{5} bytes left out …\nx\n`, text)
	require.LessOrEqual(t, len(text), keepHead+keepTail+100)

	text, truncated = keep(strings.Repeat("y", 200_000))
	require.True(t, truncated)
	require.Contains(t, text, fmt.Sprintf("y\n… %d bytes left out …\ny", 200_000-keepHead-keepTail))
}

func chunks(s string, n int) []string {
	var out []string
	for len(s) > n {
		out, s = append(out, s[:n]), s[n:]
	}
	return append(out, s)
}

// Whatever a command writes, what is kept is text, and an event can hold it.
func TestKeptTextIsBoundedInJSON(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	for name, output := range map[string]string{
		"random": string(random), "markup": strings.Repeat("<&>", 30_000), "markup, whole": strings.Repeat("<", keepHead+keepTail),
		"control": strings.Repeat("\x01", 100_000), "quotes": strings.Repeat(`"\`, 50_000), "bad": strings.Repeat("\xff", 100_000),
		"separators": strings.Repeat("\u2028", 60_000), "empty": "",
	} {
		var k keeper
		k.take([]byte(output))
		text, _ := k.text(newRedactor(nil))
		require.True(t, utf8.ValidString(text), name)
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), maxJSON+2, name)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("a", maxLine+10) + "needle" + strings.Repeat("b", maxLine) + "\n"
	text := "one\r\n\ntwo\n" + long + "no end"
	for _, size := range []int{1, 3, 4096, 1 << 20} {
		var got []string
		pieces, count := 0, 0
		var l lineReader
		f := func(line []byte, more bool) {
			require.LessOrEqual(t, len(line), maxLine)
			if strings.Contains(string(line), "needle") {
				count++
			}
			if more {
				pieces++
			} else {
				got = append(got, string(line[:min(len(line), 3)]))
			}
		}
		for _, c := range chunks(text, size) {
			l.take([]byte(c), f)
		}
		l.end(f)
		require.Equal(t, []string{"one", "", "two", "aaa", "no "}, got)
		require.EqualValues(t, 5, l.count)
		require.Equal(t, 2, pieces)
		require.GreaterOrEqual(t, count, 1)
	}
}

func TestExpectations(t *testing.T) {
	output := "alpha\n\x1b[32m3 \x1b[1mpassed\x1b[0m\nbeta gamma\nthe end"
	for _, tc := range []struct {
		expect Expect
		met    bool
		got    string
	}{
		{Expect{stdoutContains, "alpha"}, true, "alpha"},
		{Expect{stdoutContains, "beta"}, true, "beta gamma"},
		{Expect{stdoutContains, "gamma\nthe"}, true, "beta gamma"},
		{Expect{stdoutContains, "the end"}, true, "the end"},
		{Expect{stdoutContains, "3 passed"}, true, "3 passed"},
		{Expect{stdoutContains, "\x1b[32m3"}, true, "3 passed"},
		{Expect{stdoutContains, "delta"}, false, ""},
		{Expect{stderrContains, "alpha"}, false, ""},
		{Expect{outputContains, "alpha"}, true, "alpha"},
		{Expect{outputExcludes, "alpha"}, false, "alpha"},
		{Expect{outputExcludes, "3 passed"}, false, "3 passed"},
		{Expect{outputExcludes, "delta"}, true, ""},
		{Expect{outputMatches, `^\d+ passed$`}, true, "3 passed"},
		{Expect{outputMatches, `^beta \w+$`}, true, "beta gamma"},
		{Expect{outputMatches, `alpha\n`}, false, ""},
		{Expect{outputMatches, `end$`}, true, "the end"},
	} {
		for _, size := range []int{1, 2, 5, 1000} {
			s, _ := captured(output, size, tc.expect)
			other := findersFor("stderr", []Expect{tc.expect})
			hits := judge([]Expect{tc.expect}, [][]*finder{s.finders, other}, newRedactor(nil))
			require.Len(t, hits, 1)
			require.Equal(t, tc.met, hits[0].Met, "%+v in chunks of %d", tc.expect, size)
			if size == 1000 {
				require.Equal(t, tc.got, hits[0].Got, "%+v", tc.expect)
			}
		}
	}
}

// A match far into an output that is not kept counts as well.
func TestExpectationsSeeEverything(t *testing.T) {
	output := strings.Repeat("nothing here\n", 20_000) + "needle\n" + strings.Repeat("nothing here\n", 20_000)
	s, _ := captured(output, 32<<10, Expect{outputContains, "needle"}, Expect{outputMatches, "^needle$"})
	hits := judge([]Expect{{outputContains, "needle"}, {outputMatches, "^needle$"}}, [][]*finder{s.finders}, newRedactor(nil))
	require.True(t, hits[0].Met)
	require.True(t, hits[1].Met)
	require.NotContains(t, s.record(newRedactor(nil)).Text, "needle")
}

// Whatever the chunks are, a text is found if and only if it is there.
func TestContainsAcrossChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		hay := make([]byte, rnd.IntN(40))
		for i := range hay {
			hay[i] = "ab\n"[rnd.IntN(3)]
		}
		want := make([]byte, 1+rnd.IntN(6))
		for i := range want {
			want[i] = "ab\n"[rnd.IntN(3)]
		}
		f := newFinder(Expect{stdoutContains, string(want)})
		for rest := hay; len(rest) > 0; {
			n := 1 + rnd.IntN(min(5, len(rest)))
			f.chunk(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, strings.Contains(string(hay), string(want)), f.found, "%q in %q", want, hay)
	}
}

func TestExpectationsThatCannotBeMatched(t *testing.T) {
	for _, bad := range []Expect{{"file_contains", "x"}, {outputContains, ""}, {outputMatches, "("}, {"", ""}} {
		p := checkExpects([]Expect{bad})
		require.NotNil(t, p, bad)
		require.Equal(t, ExpectInvalid, p.code)
	}
	require.Nil(t, checkExpects([]Expect{{outputMatches, "a|b"}, {outputExcludes, "x"}}))
}

func TestRedact(t *testing.T) {
	r := newRedactor([]string{"exactly-this", "short"})
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
	gh := "ghp_" + strings.Repeat("a1", 18)
	for in, want := range map[string]string{
		"it is exactly-this, short":                            "it is «redacted:environment», short",
		"x\n" + pem + "\ny":                                    "x\n«redacted:private_key»\ny",
		"x\n" + pem[:40]:                                       "x\n«redacted:private_key»",
		pem[40:] + "\ny":                                       "«redacted:private_key»\ny",
		"-----BEGIN PUBLIC KEY-----\nMIIB":                     "-----BEGIN PUBLIC KEY-----\nMIIB",
		"postgres://bob:hunter2@db/x":                          "postgres://«redacted:url_password»@db/x",
		"http://host:80/path@x":                                "http://host:80/path@x",
		"id AKIAIOSFODNN7EXAMPLE.":                             "id «redacted:aws_key».",
		"use " + gh:                                            "use «redacted:github_token»",
		"github_pat_" + strings.Repeat("A", 30):                "«redacted:github_token»",
		"xoxb-123456789012-abc":                                "«redacted:slack_token»",
		"sk-" + "ant-" + strings.Repeat("x9", 12):              "«redacted:api_key»",
		"Authorization: Bearer abcdefghij0123456":              "Authorization: Bearer «redacted:authorization»",
		"API_KEY=abc123":                                       "API_KEY=«redacted:assignment»",
		"export DB_PASSWORD='a b c d e f'":                     "export DB_PASSWORD=«redacted:assignment»",
		`{"client_secret": "s3cr3t-value", "a":1}`:             `{"client_secret": «redacted:assignment», "a":1}`,
		"password: hunter2x":                                   "password: «redacted:assignment»",
		"SyntaxError: Unexpected token: word":                  "SyntaxError: Unexpected token: word",
		"    token_test.go:12:34: got 1":                       "    token_test.go:12:34: got 1",
		"no secrets here":                                      "no secrets here",
		"secret=true tokens=12":                                "secret=true tokens=12",
		"--- FAIL: TestTokenRefresh (0.00s)":                   "--- FAIL: TestTokenRefresh (0.00s)",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc": "«redacted:jwt»",
		"task-force sk-8 risk-averse":                          "task-force sk-8 risk-averse",
	} {
		require.Equal(t, want, r.text(in), in)
		require.Equal(t, want, r.text(r.text(in)), "once is enough: %s", in)
	}
}

// A secret that the left-out middle cut in two is not told by halves.
func TestRedactAtTheCut(t *testing.T) {
	secret := strings.Repeat("S3cret", 10)
	r := newRedactor([]string{secret})
	output := strings.Repeat("x", keepHead-20) + secret + strings.Repeat("y", 200_000) + secret + strings.Repeat("z", keepTail-20)
	var k keeper
	k.take([]byte(output))
	text, truncated := k.text(r)
	require.True(t, truncated)
	require.NotContains(t, text, "S3cret")
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"GITHUB_TOKEN": true, "API_KEY": true, "DB_PASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "npm_config_authToken": true,
		"MONKEY": false, "KEYBOARD_LAYOUT": false, "PATH": false, "PWD": false, "SSH_AUTH_SOCK": true, "COMPASS": false,
	} {
		require.Equal(t, want, secretName(name), name)
	}
}

func TestStreamRecord(t *testing.T) {
	s, _ := captured("a\nb\nc", 2)
	sum := sha256.Sum256([]byte("a\nb\nc"))
	require.Equal(t, events.Stream{Bytes: 5, Lines: 3, Text: "a\nb\nc", SHA256: hex.EncodeToString(sum[:])}, s.record(newRedactor(nil)))
	empty, _ := captured("", 1)
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", empty.record(newRedactor(nil)).SHA256)

	// Without anybody to look at lines they are counted all the same.
	c := &capture{limit: 1 << 60}
	quiet := newStream(os.Stdin, "stdout", nil, false)
	for _, p := range []string{"a\nb", "c\n", "d", "e"} {
		c.take(quiet, []byte(p))
	}
	quiet.lines.end(c.lineOf(quiet))
	require.EqualValues(t, 3, quiet.lines.count)
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m", 3)
	f.Add("\xff\x1b]0;x", 1)
	f.Fuzz(func(t *testing.T, s string, at int) {
		text := plain(s)
		require.True(t, utf8.ValidString(text))
		require.NotContains(t, text, "\x1b")
		require.Equal(t, text, plain(text))
		redacted := newRedactor([]string{"somesecret"}).text(text)
		require.True(t, utf8.ValidString(redacted))
	})
}
