package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is one argument after quote removal and brace expansion.
type word struct {
	parts   Word
	text    string // literal text; what is known only at run time stands in it as written
	glob    bool   // has a pattern that is expanded at run time
	dynamic bool   // has a part known only at run time
	unread  bool   // could not be resolved; text is the source
	fed     bool   // stands for names that come from a pipe (xargs, find -exec)
	pos     syntax.Pos
}

// A char is one byte of a word that still knows whether it was quoted, or a part known only at run time.
type char struct {
	b      byte
	quoted bool
	part   *Part
}

// words resolves one word of the source, which brace expansion may turn into several.
func (l *lowerer) words(w *syntax.Word) ([]word, *Refusal) {
	chars, ref := l.chars(w)
	if ref != nil {
		return nil, ref
	}
	if len(chars) > 0 && chars[0].is('~') {
		return nil, l.refusal("tilde", w)
	}
	alts, err := expandBraces(chars)
	if err != "" {
		return nil, l.refusal(err, w)
	}
	out := make([]word, 0, len(alts))
	for _, alt := range alts {
		if len(alts) > 1 && len(alt) > 0 && alt[0].is('~') {
			return nil, l.refusal("tilde", w)
		}
		out = append(out, assemble(alt, true, w.Pos()))
	}
	return out, nil
}

// value resolves the value of an assignment, where neither braces nor patterns expand.
func (l *lowerer) value(w *syntax.Word) (word, *Refusal) {
	if w == nil {
		return word{parts: Word{{Kind: "lit"}}}, nil
	}
	chars, ref := l.chars(w)
	if ref != nil {
		return word{}, ref
	}
	for i, c := range chars {
		// a tilde also expands after each unquoted colon of a value
		if c.is('~') && (i == 0 || chars[i-1].is(':')) {
			return word{}, l.refusal("tilde", w)
		}
	}
	return assemble(chars, false, w.Pos()), nil
}

func (c char) is(b byte) bool { return c.part == nil && !c.quoted && c.b == b }

func (l *lowerer) chars(w *syntax.Word) ([]char, *Refusal) {
	var out []char
	for _, p := range w.Parts {
		var ref *Refusal
		if out, ref = l.partChars(out, p, false); ref != nil {
			return nil, ref
		}
	}
	return out, nil
}

// partChars is a closed switch: a kind of word part that is not named here is refused.
func (l *lowerer) partChars(out []char, p syntax.WordPart, quoted bool) ([]char, *Refusal) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			return appendDouble(out, p.Value), nil
		}
		return appendBare(out, p.Value), nil
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			var ok bool
			if text, ok = decodeANSI(text); !ok {
				return nil, l.refusal("ansi_c", p)
			}
		}
		return appendQuoted(out, text), nil
	case *syntax.DblQuoted:
		if p.Dollar {
			return nil, l.refusal("locale_string", p)
		}
		for _, q := range p.Parts {
			var ref *Refusal
			if out, ref = l.partChars(out, q, true); ref != nil {
				return nil, ref
			}
		}
		return out, nil
	case *syntax.ParamExp:
		part, ok := statusPart(p)
		if !ok {
			return nil, l.refusal("parameter", p)
		}
		return append(out, char{quoted: true, part: &part}), nil
	case *syntax.CmdSubst:
		return nil, l.refusal("command_substitution", p)
	case *syntax.ProcSubst:
		return nil, l.refusal("process_substitution", p)
	case *syntax.ArithmExp:
		return nil, l.refusal("arithmetic", p)
	case *syntax.ExtGlob:
		return nil, l.refusal("extglob", p)
	default:
		return nil, l.refusal("word_part", p)
	}
}

// statusPart knows the only two parameters a plan has: $? and ${PIPESTATUS[N]}.
func statusPart(p *syntax.ParamExp) (Part, bool) {
	if p.Param == nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset ||
		len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return Part{}, false
	}
	switch p.Param.Value {
	case "?":
		return Part{Kind: "status", Text: ""}, p.Index == nil
	case "PIPESTATUS":
		if p.Index == nil {
			return Part{Kind: "pipestatus", Text: "0"}, true
		}
		w, ok := p.Index.(*syntax.Word)
		if !ok {
			return Part{}, false
		}
		n := w.Lit()
		return Part{Kind: "pipestatus", Text: n}, len(n) == 1 && n[0] >= '0' && n[0] <= '9'
	}
	return Part{}, false
}

func appendQuoted(out []char, s string) []char {
	if s == "" {
		return out
	}
	for i := range len(s) {
		out = append(out, char{b: s[i], quoted: true})
	}
	return out
}

// appendBare decodes unquoted text: a backslash quotes the next byte, and a backslash before a newline is nothing.
func appendBare(out []char, s string) []char {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, char{b: s[i]})
			continue
		}
		i++
		if s[i] != '\n' {
			out = append(out, char{b: s[i], quoted: true})
		}
	}
	return out
}

// appendDouble decodes text in double quotes, where a backslash quotes only $ ` " \ and a newline.
func appendDouble(out []char, s string) []char {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '\n':
				i++
				continue
			case '$', '`', '"', '\\':
				i++
			}
		}
		out = append(out, char{b: s[i], quoted: true})
	}
	return out
}

// assemble makes a word of resolved characters. Only in a word with a pattern do parts differ in kind: then the literal
// bytes that came from quotes are escaped for the pattern matcher.
func assemble(chars []char, patterns bool, pos syntax.Pos) word {
	w := word{pos: pos, glob: patterns && hasPattern(chars)}
	var text, lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			w.parts = append(w.parts, Part{Kind: litKind(w.glob), Text: lit.String()})
			lit.Reset()
		}
	}
	for _, c := range chars {
		if c.part != nil {
			flush()
			w.dynamic = true
			w.parts = append(w.parts, *c.part)
			text.WriteString("$" + c.part.Kind)
			continue
		}
		text.WriteByte(c.b)
		if w.glob && c.quoted && strings.IndexByte(`*?[]\!^-`, c.b) >= 0 {
			lit.WriteByte('\\')
		}
		lit.WriteByte(c.b)
	}
	flush()
	if len(w.parts) == 0 {
		w.parts = Word{{Kind: "lit"}}
	}
	w.text = text.String()
	return w
}

func litKind(glob bool) string {
	if glob {
		return "glob"
	}
	return "lit"
}

// hasPattern reports an unquoted *, ?, or a bracket that is closed later.
func hasPattern(chars []char) bool {
	open := false
	for _, c := range chars {
		switch {
		case c.is('*'), c.is('?'):
			return true
		case c.is('['):
			open = true
		case c.is(']') && open:
			return true
		}
	}
	return false
}

// literal gives the word as final text; what it had of a pattern is taken as written.
func (w word) literal() word {
	w.glob = false
	w.parts = Word{{Kind: "lit", Text: w.text}}
	return w
}
