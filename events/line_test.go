package events

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fullEnvelope has every member of an envelope and of what is in it, also those that will be added one day.
func fullEnvelope() envelope {
	e := envelope{
		Seq: 7, ID: ID{1, 2, 3}, Time: time.UnixMilli(1764500000123).UTC(), Kind: KindClaimMade, V: 1, Origin: Sum(nil),
		Prev: Sum([]byte{1}), Payload: json.RawMessage(`{"a":[1,-0.5e+3,{"b":"\u00e9\n"},true,false,null,[],{}]}`),
		Seen: &Seen{}, Seal: &Seal{Subject: Sum([]byte{2}), Ruleset: "r1", Sig: []byte("sig")},
	}
	seen := reflect.ValueOf(e.Seen).Elem()
	for i := range seen.NumField() {
		switch f := seen.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x" + seen.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i))
		default:
			f.Set(reflect.ValueOf(e.Time))
		}
	}
	return e
}

// What appendLine writes is what encoding/json writes, and is read without its help.
func TestLineIsThatOfEncodingJSON(t *testing.T) {
	check := func(t require.TestingT, e envelope, fast bool) {
		want, err := encode(e)
		require.NoError(t, err)
		got, err := appendLine(nil, &e)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		var slow, quick envelope
		require.NoError(t, json.Unmarshal(got, &slow))
		if fast {
			require.True(t, (&scanner{text: string(got)}).envelope(got, &quick))
			require.Equal(t, slow, quick)
		}
		quick = envelope{}
		require.NoError(t, parseLine(got, &quick))
		require.Equal(t, slow, quick)
	}
	check(t, fullEnvelope(), true)
	bare := fullEnvelope()
	bare.Seen, bare.Seal = &Seen{}, nil
	check(t, bare, true)
	bare.Seen = nil
	check(t, bare, true)
	rapid.Check(t, func(rt *rapid.T) {
		e := fullEnvelope()
		e.Seq = rapid.Uint64().Draw(rt, "seq")
		e.Kind = Kind(rapid.String().Draw(rt, "kind"))
		e.Seen = &Seen{
			Agent: rapid.String().Draw(rt, "agent"), CWD: rapid.StringMatching(`[a-z/"\\é\x7f<>&]*`).Draw(rt, "cwd"),
			Block: rapid.Int().Draw(rt, "block"), Offset: rapid.Int64().Draw(rt, "offset"),
			At: time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(rt, "at")).UTC(),
		}
		text := rapid.String().Draw(rt, "text")
		p, err := encode(map[string]any{text: []any{text, rapid.Float64Range(-1e9, 1e9).Draw(rt, "number")}})
		require.NoError(rt, err)
		e.Payload = p
		check(rt, e, false)
	})
}

// Whatever the scanner takes is read by encoding/json, and as the same event.
func FuzzLine(f *testing.F) {
	full, err := encode(fullEnvelope())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, edit := range [][2]string{
		{`"v":1`, `"v":01`},
		{`"v":1`, `"v":1,"later":2`},
		{`"seq":7`, `"seq":-7`},
		{`"seq":7`, `"seq":7.0`},
		{`{"a"`, `{ "a"`},
		{`true`, `truE`},
		{`\u00e9`, `\u00g9`},
		{`-0.5`, `-.5`},
		{`"seen":{`, `"seen":{,`},
		{`"seen":{`, `"seen":{"agent":null,`},
		{`"seen":{"agent"`, `"seen":{"Agent"`},
		{`"block":5`, `"block":5,"block":6`},
		{`[]`, `[,]`},
		{`"at":"2`, `"at":"20`},
	} {
		f.Add([]byte(strings.Replace(string(full), edit[0], edit[1], 1)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var quick, slow envelope
		if !(&scanner{text: string(line)}).envelope(line, &quick) {
			return
		}
		require.NoError(t, json.Unmarshal(line, &slow), "%s", line)
		require.Equal(t, slow, quick, "%s", line)
	})
}

// The scanner takes compact JSON and nothing else as a payload.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":[1,2]}`, `{"a":01}`, `{"a":-}`, `{"a":1e}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":}`, `{"a",1}`, `{a:1}`, "{\"\x01\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{text: string(b)}
		if s.object() && s.at == len(b) {
			require.True(t, json.Valid(b), "%q", b)
			return
		}
		compact, err := encode(json.RawMessage(b))
		if err == nil && string(compact) == string(b) && strings.HasPrefix(string(b), "{") {
			require.Greater(t, strings.Count(string(b), "{")+strings.Count(string(b), "["), maxNesting, "%q is compact", b)
		}
	})
}
