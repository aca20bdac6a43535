package shell

// expandBraces expands {a,b} the way bash does. What it is not sure of it refuses: sequences, braces that do not match,
// empty alternatives. A pair without a comma ({}, HEAD@{1}) is literal text.
func expandBraces(chars []char) (alts [][]char, refuse string) {
	budget := maxWords
	return braces(chars, &budget)
}

func braces(chars []char, budget *int) ([][]char, string) {
	open, shut, commas, code := firstBrace(chars)
	if code != "" {
		return nil, code
	}
	if open < 0 {
		return [][]char{chars}, ""
	}
	rest, code := braces(chars[shut+1:], budget)
	if code != "" {
		return nil, code
	}
	middle, code := alternatives(chars, open, shut, commas, budget)
	if code != "" {
		return nil, code
	}
	var out [][]char
	for _, m := range middle {
		for _, r := range rest {
			if *budget--; *budget < 0 {
				return nil, "brace"
			}
			alt := append(append(append([]char{}, chars[:open]...), m...), r...)
			if len(alt) == 0 {
				return nil, "brace"
			}
			out = append(out, alt)
		}
	}
	return out, ""
}

func alternatives(chars []char, open, shut int, commas []int, budget *int) ([][]char, string) {
	if len(commas) == 0 {
		inner, code := braces(chars[open+1:shut], budget)
		if code != "" || len(inner) != 1 {
			return nil, "brace"
		}
		return [][]char{chars[open : shut+1]}, ""
	}
	var out [][]char
	from := open + 1
	for _, to := range append(commas, shut) {
		alts, code := braces(chars[from:to], budget)
		if code != "" {
			return nil, code
		}
		out = append(out, alts...)
		from = to + 1
	}
	return out, ""
}

// firstBrace finds the first unquoted pair and the commas at its own level.
func firstBrace(chars []char) (open, shut int, commas []int, code string) {
	open = -1
	depth := 0
	for i, c := range chars {
		switch {
		case c.is('{'):
			if depth++; depth == 1 {
				open = i
			}
		case c.is('}') && depth == 0:
			return 0, 0, nil, "brace"
		case c.is('}'):
			if depth--; depth == 0 {
				return open, i, commas, sequence(chars[open+1:i], commas)
			}
		case c.is(',') && depth == 1:
			commas = append(commas, i)
		}
	}
	if depth > 0 {
		return 0, 0, nil, "brace"
	}
	return -1, 0, nil, ""
}

func sequence(inner []char, commas []int) string {
	for i := 1; i < len(inner); i++ {
		if len(commas) == 0 && inner[i].is('.') && inner[i-1].is('.') {
			return "brace"
		}
	}
	return ""
}
