package relevance

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// lastBegun returns a name whose last word is incomplete.
func lastBegun(r *rand.Rand, p *Patient) string {
	final := p.Words[len(p.Words)-1]
	if len(final) < 4 {
		return ""
	}
	return strings.ToLower(strings.Join(p.Words[:len(p.Words)-1], " ") + " " + final[:3+r.IntN(len(final)-3)])
}

func begun(r *rand.Rand, p *Patient) string {
	var parts []string
	for _, w := range p.Words {
		parts = append(parts, w[:min(len(w), 3+r.IntN(3))])
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.ToLower(strings.Join(parts, " "))
}

// mistyped returns the name with one error in its longest word.
func mistyped(r *rand.Rand, p *Patient) string {
	words := slices.Clone(p.Words)
	longest := slices.IndexFunc(words, func(w string) bool {
		return !slices.ContainsFunc(words, func(other string) bool { return len(other) > len(w) })
	})
	if words[longest] = wrong(r, words[longest]); words[longest] == "" {
		return ""
	}
	return strings.ToLower(strings.Join(words, " "))
}

// wrong returns w with one error after the first letter: two letters swapped, or one left out, doubled or replaced. It
// is empty for short words.
func wrong(r *rand.Rand, w string) string {
	if len(w) < 5 {
		return ""
	}
	right, at := w, 1+r.IntN(len(w)-2)
	switch r.IntN(4) {
	case 0:
		w = w[:at] + w[at+1:at+2] + w[at:at+1] + w[at+2:]
	case 1:
		w = w[:at] + w[at+1:]
	case 2:
		w = w[:at] + w[at:at+1] + w[at:]
	case 3:
		w = w[:at] + string(rune('a'+r.IntN(26))) + w[at+1:]
	}
	if w == right {
		return ""
	}
	return w
}

// twiceWrong returns the name with an error in the first word and another one in the last.
func twiceWrong(r *rand.Rand, p *Patient) string {
	given, family := wrong(r, p.Words[0]), wrong(r, p.Words[len(p.Words)-1])
	if given == "" || family == "" {
		return ""
	}
	return given + " " + family
}

// wrongWithDigits returns the given name with an error, and the last digits of the phone number.
func wrongWithDigits(r *rand.Rand, p *Patient) string {
	given := wrong(r, p.Words[0])
	if given == "" {
		return ""
	}
	return given + " " + p.national()[4:]
}

// heardAndBegun returns the given name in another spelling and the beginning of the family name.
func heardAndBegun(r *rand.Rand, p *Patient) string {
	n, family := p.names[0], p.Words[len(p.Words)-1]
	use := r.IntN(len(n.spellings))
	if use == n.used || len(family) < 5 {
		return ""
	}
	return n.spellings[use] + " " + family[:4]
}

// respelled returns the name with another spelling of at least one word.
func respelled(r *rand.Rand, p *Patient) string {
	var words []string
	other := false
	for _, n := range p.names {
		use := r.IntN(len(n.spellings))
		other = other || use != n.used
		words = append(words, n.spellings[use])
	}
	if !other {
		return ""
	}
	return strings.Join(words, " ")
}

func telephone(r *rand.Rand, p *Patient) string {
	n := p.national()
	return []string{n, "+91" + n, "91" + n, "0" + n, n[:5] + " " + n[5:], n[:5] + "-" + n[5:], "+91 (" + n[:5] + ") " + n[5:]}[r.IntN(7)]
}

func sameName(_ string, p, other *Patient) bool { return strings.EqualFold(p.Name(), other.Name()) }

// holdsWords reports whether the other patient's name contains every word.
func holdsWords(text string, _, other *Patient) bool {
	for _, w := range strings.Fields(text) {
		if !slices.Contains(other.Words, w) {
			return false
		}
	}
	return true
}

// begunAlike reports whether every word is a prefix of a word of the other patient's name.
func begunAlike(text string, _, other *Patient) bool {
	for _, w := range strings.Fields(text) {
		if !slices.ContainsFunc(other.Words, func(o string) bool { return strings.HasPrefix(strings.ToLower(o), w) }) {
			return false
		}
	}
	return true
}

// namedAndBegun reports whether other has the given name of p in any spelling, and a name that starts with the last
// word of text.
func namedAndBegun(text string, p, other *Patient) bool {
	words := strings.Fields(strings.ToLower(text))
	return begunAlike(words[len(words)-1], nil, other) && slices.ContainsFunc(other.names, func(o name) bool { return o.spellings[0] == p.names[0].spellings[0] })
}

// reached reports whether one of the other patient's phone numbers contains the digits at the end of text.
func reached(text string, _, other *Patient) bool {
	digits := text[strings.LastIndexByte(text, ' ')+1:]
	return strings.Contains(other.Contact, digits) || strings.Contains(other.AlternateContact, digits)
}

// sharesEnds reports whether the other patient has the same first and last names in any spelling.
func sharesEnds(_ string, p, other *Patient) bool {
	ends := &Patient{names: []name{p.names[0], p.names[len(p.names)-1]}}
	return sameSound("", ends, other)
}

// sameSound reports whether the other patient has the same names in any spelling.
func sameSound(_ string, p, other *Patient) bool {
	return !slices.ContainsFunc(p.names, func(n name) bool {
		return !slices.ContainsFunc(other.names, func(o name) bool { return o.spellings[0] == n.spellings[0] })
	})
}

// heldAlike reports whether the other patient's phone numbers contain the last word, and that patient's name the words
// before it.
func heldAlike(text string, _, other *Patient) bool {
	words := strings.Fields(text)
	last := words[len(words)-1]
	return reached(last, nil, other) && holdsWords(strings.Join(words[:len(words)-1], " "), nil, other)
}

func sameBeginning(text string, p, other *Patient) bool {
	n := onlyDigits(text)
	n = n[max(0, strings.Index(n, p.national()[:7])):]
	return strings.Contains(other.Contact, n) || strings.Contains(other.AlternateContact, n)
}
