package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dalkkak/dkgraph/events"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// outcome is the reason why f is no marker, or the name it gives itself.
func (f Found) outcome() string {
	switch p := f.payload.(type) {
	case events.Claim:
		return p.ClaimID
	case events.Node:
		return p.Title
	case events.Summary:
		return p.Kind
	}
	return f.Reason
}

func outcomes(found []Found) []string {
	all := []string{}
	for _, f := range found {
		all = append(all, f.outcome())
	}
	return all
}

func TestScan(t *testing.T) {
	ar, err := txtar.ParseFile(filepath.Join("testdata", "markers.txtar"))
	require.NoError(t, err)
	for i := 0; i < len(ar.Files); i += 2 {
		text, want := ar.Files[i], ar.Files[i+1]
		name := strings.TrimSuffix(text.Name, ".md")
		require.Equal(t, name+".want", want.Name)
		for _, eol := range []string{"\n", "\r\n"} {
			t.Run(name, func(t *testing.T) {
				s := strings.ReplaceAll(string(text.Data), "\n", eol)
				found := Scan(s)
				require.Equal(t, strings.Fields(string(want.Data)), outcomes(found), "%+v", found)
				requireSound(t, s, found)
			})
		}
	}
}

// requireSound checks what holds for whatever is found.
func requireSound(t require.TestingT, text string, found []Found) {
	at := -1
	for i, f := range found {
		require.Equal(t, i, f.Ordinal)
		require.Greater(t, f.Offset, at)
		at = f.Offset
		require.True(t, strings.HasPrefix(text[f.Offset:], f.Raw))
		require.Equal(t, f.Reason == "", f.payload != nil)
		d, err := f.Draft(events.Seen{Agent: "claude", Turn: "m-1"})
		require.NoError(t, err)
		require.Equal(t, f.Ordinal, d.Seen().Ordinal)
		require.Equal(t, f.Reason != "", d.Kind() == events.KindMarkerIgnored)
	}
}

func TestScanOddBytes(t *testing.T) {
	m := verify("a")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":              {"", []string{}},
		"carriage returns":   {"x\r" + m + "\ry", []string{"a"}},
		"fence with returns": {"```\r" + m + "\r```\r" + verify("b"), []string{"fenced", "b"}},
		"no-break space":     {"\u00a0" + m, []string{"a"}},
		"byte order mark":    {"\ufeff" + m + " x", []string{"mid_sentence"}},
		"line separator":     {"x\u2028" + m + "\u2028y", []string{"mid_sentence"}},
		"not UTF-8":          {strings.Replace(m, "tests", "te\xffts", 1), []string{"malformed"}},
		"NUL in JSON":        {strings.Replace(m, "tests", "te\x00ts", 1), []string{"malformed"}},
		"oversize":           {strings.Replace(m, "tests", strings.Repeat("x", events.MaxMarkerBytes), 1) + "\n" + m, []string{"oversize", "a"}},
		"largest": {
			strings.Replace(m, "tests", strings.Repeat("x", events.MaxMarkerBytes-len(m)+len("tests")+len("<dk-verify></dk-verify>")), 1),
			[]string{"a"},
		},
		"deep":      {strings.Replace(m, `"id"`, `"x":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`,"id"`, 1), []string{"malformed"}},
		"deep list": {strings.Repeat("- ", 100) + m, []string{"fenced"}},
		"tab list":  {"-\tx\n\n\t" + m + "\n\n\t\t" + verify("b"), []string{"a", "fenced"}},
		"tab quote": {">\t" + m, []string{"quoted"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := Scan(c.text)
			require.Equal(t, c.want, outcomes(found))
			if name != "not UTF-8" {
				requireSound(t, c.text, found)
			}
		})
	}
}

func TestFoundPayload(t *testing.T) {
	body := "{ \"id\": \"a\", \"claim\": \"c\", \"kind\": \"file\", \"cwd\": \"sub\",\n \"expect\": {\"exists\": true,  \"sha256\": \"\\u0041\"}, \"about\": [\"k\"] }"
	found := Scan("<dk-verify> " + body + "\n</dk-verify>")
	require.Len(t, found, 1)
	d, err := found[0].Draft(events.Seen{Agent: "claude", Turn: "t"})
	require.NoError(t, err)
	c, err := events.DraftPayload[events.Claim](d)
	require.NoError(t, err)
	require.Equal(t, events.Claim{
		ClaimID: "a", Text: "c", Kind: "file", CWD: "sub", About: []string{"k"}, Raw: body,
		Expect: []byte(`{"exists":true,"sha256":"\u0041"}`),
	}, c)
}

func TestFoundWithoutScan(t *testing.T) {
	_, err := Found{Tag: TagVerify, Body: "{}"}.Draft(events.Seen{})
	require.Error(t, err)
}

// Every code is in the table of the package documentation, and the other way round.
func TestReasonsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	src, err := os.ReadFile("reason.go")
	require.NoError(t, err)
	codes := 0
	for l := range strings.Lines(string(src)) {
		if _, code, ok := strings.Cut(l, `= "`); ok {
			codes++
			require.Contains(t, string(doc), "//\t"+strings.Trim(code, "\"\n")+" ")
		}
	}
	require.Equal(t, 30, codes)
}

// Texts that are made to be slow: each must be read in time that grows with its length.
func TestScanHostile(t *testing.T) {
	const n = 1 << 18
	fill := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	ticks := func() string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + " ")
		}
		return b.String()
	}()
	for name, text := range map[string]string{
		"tags":              fill("<dk-verify>"),
		"open objects":      fill("<dk-verify>{"),
		"open strings":      fill(`<dk-verify>{"a":"`),
		"open keys":         fill(`<dk-verify>{"`),
		"nested":            strings.Repeat("<dk-node>{", n/20) + strings.Repeat("</dk-node>", n/20),
		"bad tags":          fill("<DK-NODE>") + "</dk-node>",
		"half tags":         fill("<dk-ver"),
		"tag with space":    fill("<dk-verify "),
		"angle brackets":    fill("<"),
		"runs of backticks": ticks + verify("a"),
		"comments":          fill("<!-- ") + verify("a"),
		"quotes":            fill("> ") + verify("a"),
		"quote lines":       fill("> > > > > > > >\n") + verify("a"),
		"lists":             fill("- ") + "\n" + verify("a"),
		"list then blanks":  strings.Repeat("- ", 5000) + "x" + fill("\n") + verify("a"),
		"white space":       fill(" \n\t") + verify("a") + fill(" "),
		"spaces":            fill(" ") + "<dk-verify>" + fill(" "),
		"backslashes":       fill(`\`) + verify("a"),
		"short markers":     fill("<dk-verify>{}</dk-verify>\n"),
		"mixed":             fill("<dk-verify>{<dk-node>{\"a\":[`<dk-summary>\\<dk-verify>{}</dk-node>"),
	} {
		t.Run(name, func(t *testing.T) {
			found := 0
			scan(text, 0, func(Found) { found++ })
			t.Log(found)
		})
	}
}
