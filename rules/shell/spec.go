package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A builder turns what is written in a file into specs, and collects what is wrong with it.
type builder struct {
	sets   map[string]string
	strict bool // a flag may not be given twice
	errs   []error
}

func (b *builder) errorf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *builder) keepErr(err error) {
	if err != nil {
		b.errs = append(b.errs, err)
	}
}

// harm is a spec of which only the harm is known.
func (b *builder) harm(name, eco, effects string) *spec {
	s := &spec{rawSpec: rawSpec{Name: name, Eco: eco}, flags: map[string]*flag{}, subs: map[string]*spec{}}
	s.effects = b.effects(name, effects)
	return s
}

func (b *builder) effects(where, list string) []string {
	out := splitList(list)
	for _, e := range out {
		if !strings.Contains(effectNames, " "+e+" ") {
			b.errorf("%s: unknown effect %q", where, e)
		}
	}
	return out
}

func (b *builder) spec(r rawSpec) *spec {
	s := &spec{rawSpec: r, flags: map[string]*flag{}, subs: map[string]*spec{}}
	if r.Class != "" && !strings.Contains(classes, " "+r.Class+" ") {
		b.errorf("%s: unknown class %q", r.Name, r.Class)
	}
	if !strings.Contains("  gnu go word none ", " "+r.Style+" ") {
		b.errorf("%s: unknown style %q", r.Name, r.Style)
	}
	for _, set := range r.Use { // sets may overlap
		list, ok := b.sets[set]
		if !ok {
			b.errorf("%s: unknown set %q", r.Name, set)
		}
		b.flags(s, list)
	}
	shared := s.flags
	s.flags, s.prefixes = map[string]*flag{}, nil
	b.strict = true
	b.flags(s, r.Flags)
	b.strict = false
	for name, f := range shared { // what the command says itself goes before what it shares
		if s.flags[name] == nil {
			b.keep(s, f)
		}
	}
	s.args = b.args(s, r.Args)
	s.modes = map[string][]argument{}
	for flags, args := range r.Modes {
		for _, f := range strings.Fields(flags) {
			s.modes[f] = b.args(s, args)
		}
	}
	s.effects = b.effects(r.Name, r.Effects)
	s.lacking = b.effects(r.Name, r.Lacking)
	s.skip, s.need = strings.Fields(r.Skip), strings.Fields(r.Need)
	s.words, s.targets, s.neutral = strings.Fields(r.Words), strings.Fields(r.Targets), strings.Fields(r.Neutral)
	if r.Rest != nil {
		s.rest = b.spec(inherit(*r.Rest, r))
		s.rest.Name = r.Name + " --"
	}
	for keys, sub := range r.Subs {
		b.sub(s, keys, sub)
	}
	for effect, list := range r.Harm {
		for _, key := range strings.Split(list, ",") {
			key = strings.TrimSpace(key)
			b.place(s, strings.Fields(key), b.harm(r.Name+" "+key, r.Eco, effect))
		}
	}
	return s
}

// inherit gives a sub-command the style and names of its parent.
func inherit(sub, parent rawSpec) rawSpec {
	if sub.Style == "" {
		sub.Style = parent.Style
	}
	if sub.Words == "" {
		sub.Words = parent.Words
	}
	sub.Eco = parent.Eco
	return sub
}

// sub adds a sub-command; "a b" is nested, "a|b" two spellings of one.
func (b *builder) sub(s *spec, keys string, raw *rawSpec) {
	if raw == nil {
		raw = &rawSpec{}
	}
	for _, key := range strings.Split(keys, "|") {
		r := inherit(*raw, s.rawSpec)
		r.Name = s.Name + " " + key
		b.place(s, strings.Fields(key), b.spec(r))
	}
}

func (b *builder) place(s *spec, keys []string, sub *spec) {
	at := s
	for i, k := range keys {
		if i == len(keys)-1 {
			if old := at.subs[k]; old != nil && old.Class+strings.Join(old.effects, "") != "" {
				b.errorf("%s: sub-command %q twice", s.Name, strings.Join(keys, " "))
			} else if old != nil {
				for name, deep := range old.subs {
					sub.subs[name] = deep
				}
			}
			at.subs[k] = sub
			return
		}
		if at.subs[k] == nil {
			at.subs[k] = &spec{
				rawSpec: rawSpec{Name: at.Name + " " + k, Eco: s.Eco, Style: s.Style},
				flags:   map[string]*flag{}, subs: map[string]*spec{},
			}
		}
		at = at.subs[k]
	}
}

func (b *builder) args(s *spec, list string) (out []argument) {
	for _, a := range strings.Fields(list) {
		role, repeat := strings.CutSuffix(a, "...")
		arg := argument{role: role, repeat: repeat}
		arg.role, arg.list = closedList(role)
		b.role(s.Name, arg.role)
		out = append(out, arg)
	}
	return out
}

func (b *builder) role(where, role string) {
	if !strings.Contains(roles, " "+role+" ") {
		b.errorf("%s: unknown role %q", where, role)
	}
}

// closedList reads [a|b|c] as the role list.
func closedList(role string) (string, []string) {
	if strings.HasPrefix(role, "[") && strings.HasSuffix(role, "]") {
		return "list", strings.Split(role[1:len(role)-1], "|")
	}
	return role, nil
}

func (b *builder) flags(s *spec, list string) {
	for _, tok := range strings.Fields(list) {
		if rest, ok := strings.CutPrefix(tok, "-["); ok {
			chars, suffix, ok := strings.Cut(rest, "]")
			if !ok {
				b.errorf("%s: bad flag %q", s.Name, tok)
			}
			for i := range len(chars) {
				b.flag(s, "-"+chars[i:i+1]+suffix)
			}
			continue
		}
		b.flag(s, tok)
	}
}

func (b *builder) flag(s *spec, tok string) {
	f := &flag{}
	tok, f.class, _ = strings.Cut(tok, "@")
	tok, effects, _ := strings.Cut(tok, "!")
	f.effects = b.effects(s.Name, effects)
	name, role, valued := strings.Cut(tok, "=")
	f.name = name
	if valued {
		role, f.attach = strings.CutSuffix(role, "?")
		f.role, f.list = closedList(role)
		b.role(s.Name, f.role)
	}
	if f.class != "" && !strings.Contains(classes, " "+f.class+" ") {
		b.errorf("%s: unknown class %q of %s", s.Name, f.class, name)
	}
	if s.flags[name] != nil && b.strict {
		b.errorf("%s: flag %s twice", s.Name, name)
	}
	b.keep(s, f)
}

func (b *builder) keep(s *spec, f *flag) {
	s.flags[f.name] = f
	if strings.HasSuffix(f.name, "*") {
		s.prefixes = append(s.prefixes, f)
		sortPrefixes(s.prefixes)
	}
}

// sortPrefixes puts the longest first: it is the most particular.
func sortPrefixes(list []*flag) {
	slices.SortFunc(list, func(a, b *flag) int {
		return cmp.Or(cmp.Compare(len(b.name), len(a.name)), cmp.Compare(a.name, b.name))
	})
}

// splitList splits at commas and spaces.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
