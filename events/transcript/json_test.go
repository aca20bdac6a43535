package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jsonSamples are values, and what is none, for the walkers of json.go.
var jsonSamples = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+10`, `1E5`, `true`, `false`, `null`, `{"a":{"b":[1,"x",null]},"c":"\u00e9\n\/"}`,
	` { "a" : [ 1 , 2 ] } `, "\"\xff\"", "\"\u2028\"", ``, ` `, `{`, `{"a"`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`,
	`01`, `1.`, `.5`, `-`, `1e`, `+1`, `tru`, `truex`, `nul`, `"\x"`, `"\u12"`, "\"\t\"", "\"\x00\"", `"a`, `{"a":1}}`, `{1:2}`,
	`[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `'a'`, `NaN`, "\u00a01",
}

// valid is what encoding/json calls valid, by our walkers.
func valid(b []byte) bool {
	_, _, ok := readMembers(b)
	return ok
}

func TestJSON(t *testing.T) {
	for _, s := range jsonSamples {
		require.Equal(t, json.Valid([]byte(s)), valid([]byte(s)), s)
	}
	for _, n := range []int{lineLevels, lineLevels + 1} {
		s := strings.Repeat("[", n) + strings.Repeat("]", n)
		require.Equal(t, json.Valid([]byte(s)), valid([]byte(s)), n)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range jsonSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		require.Equal(t, json.Valid(b), valid(b), "%q", b)
		if !valid(b) {
			return
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&v))
		if o, ok := v.(map[string]any); ok {
			rec, _, _ := readMembers(b)
			for k := range o {
				if len(rec) > 0 {
					s, isString := o[k].(string)
					require.Equal(t, s, rec.str(k), "%q", b)
					require.Equal(t, isString, rec.get(k)[0] == '"')
				}
			}
		}
		var want []string
		eachOf(v, func(s string) { want = append(want, s) })
		have := 0
		eachString(b[skipSpace(b, 0):], func(string) { have++ })
		if _, dup := duplicateKey(b[skipSpace(b, 0):]); !dup {
			require.Equal(t, len(want), have, "%q", b)
		}
	})
}

// eachOf is eachString on a decoded value.
func eachOf(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			eachOf(e, visit)
		}
	case map[string]any:
		for _, e := range v {
			eachOf(e, visit)
		}
	}
}

func TestDuplicateKey(t *testing.T) {
	for s, want := range map[string]string{
		`{"a":1,"b":2}`:                 "",
		`{"a":1,"a":2}`:                 "a",
		`{"a":1,"\u0061":2}`:            "a",
		`[{"x":{"b":[{"a":1,"a":1}]}}]`: "a",
		`{"a":{"a":1}}`:                 "",
		`{"":1,"":2}`:                   "",
	} {
		key, found := duplicateKey([]byte(s))
		require.Equal(t, want, key, s)
		require.Equal(t, want != "" || s == `{"":1,"":2}`, found, s)
	}
}

func TestLoneSurrogate(t *testing.T) {
	for s, want := range map[string]bool{
		`"x"`: false, `"\ud83d\ude00"`: false, `"\ud83d"`: true, `"\ude00"`: true, `"\ud83dx"`: true, `"\\ud83d"`: false,
		`"\ud83d\u0041"`: true, `"\u0041"`: false, `"\ud83d\ud83d\ude00"`: true, `"\\\ud83d"`: true,
	} {
		require.Equal(t, want, loneSurrogate([]byte(s)), s)
	}
}
