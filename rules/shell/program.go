package shell

import (
	"regexp"
	"strings"
)

// sedIsHarmless reads a sed script of addresses, p, d, q, =, n, and s without the flags e and w. Every other command is
// refused: w, W, r, R and e reach files and programs.
func sedIsHarmless(s string) bool {
	for s = strings.TrimLeft(s, " \t;\n"); s != ""; s = strings.TrimLeft(s, " \t;\n") {
		var ok bool
		if s, ok = sedAddress(s); !ok || s == "" {
			return false
		}
		switch s[0] {
		case 'p', 'd', 'q', '=', 'n', 'N', 'h', 'H', 'g', 'G', 'x', 'P', 'D', '{', '}':
			s = s[1:]
			if s != "" && strings.IndexByte(" \t;\n}pdq=nN{s/0123456789$", s[0]) < 0 {
				return false
			}
		case 's':
			if s, ok = sedSubstitute(s[1:]); !ok {
				return false
			}
		default:
			return false
		}
	}
	return true
}

var sedOneAddress = regexp.MustCompile(`^(\d+(~\d+)?|\$|\+\d+)`)

func sedAddress(s string) (string, bool) {
	for range 2 {
		s = strings.TrimLeft(s, " \t")
		switch {
		case strings.HasPrefix(s, "/"):
			end := delimited(s[1:], '/')
			if end < 0 {
				return s, false
			}
			s = strings.TrimLeft(s[end+2:], "I")
		default:
			s = s[len(sedOneAddress.FindString(s)):]
		}
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ",") {
			break
		}
		s = s[1:]
	}
	return strings.TrimLeft(s, "! \t"), true
}

var sedFlags = regexp.MustCompile(`^[gpiI0-9]*($|[ \t;\n}])`)

func sedSubstitute(s string) (string, bool) {
	if s == "" || strings.IndexByte("/|#,@:!%_+", s[0]) < 0 {
		return s, false
	}
	delim := s[0]
	s = s[1:]
	for range 2 {
		end := delimited(s, delim)
		if end < 0 {
			return s, false
		}
		s = s[end+1:]
	}
	m := sedFlags.FindString(s)
	if m == "" && s != "" {
		return s, false
	}
	return strings.TrimLeft(s, "gpiI0123456789"), true
}

// delimited finds the end of a text; a bracket expression may hold the delimiter in one sed and not in another, so a
// pattern with one before its end is not understood.
func delimited(s string, delim byte) int {
	bracket := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return -1
		case s[i] == '\\':
			i++
		case s[i] == '[':
			bracket = true
		case s[i] == ']':
			bracket = false
		case s[i] == delim:
			if bracket {
				return -1
			}
			return i
		}
	}
	return -1
}

var (
	awkReach = regexp.MustCompile(`system|getline|close|fflush|ENVIRON|ARGV|SYMTAB|FUNCTAB|PROCINFO|@|>|load|include`)
	jqReach  = regexp.MustCompile(`(^|[^.\pL\pN_])(\$?ENV|\$?env|strenv|envsubst|load\w*|system|eval|include|import|input_filename|get_search_list)($|[^\pL\pN_])`)
)

// awkIsHarmless reports a program that can only read its input and print: no pipe, no redirection, no call out.
func awkIsHarmless(s string) bool {
	s = strings.NewReplacer("||", " or ", ">=", " ge ").Replace(s)
	return !awkReach.MatchString(s) && !strings.ContainsAny(s, `|\`)
}

// jqIsHarmless reports a filter that reads neither the environment nor other files. A string may hold a program again
// ("\(env)"), so strings are looked into as well.
func jqIsHarmless(s string) bool { return !jqReach.MatchString(s) }
