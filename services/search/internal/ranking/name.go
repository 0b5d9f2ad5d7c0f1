package ranking

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const (
	minFuzzy = 4 // minimum length of a word that may have a typing error
	// maxWords is the maximum number of words that are compared word by word. It limits the cost; longer texts are
	// compared only as names.
	maxWords = 6
)

// names returns the clauses for the text as a name.
func names(t text, f search.Field, effort search.Effort) []clause {
	if len(t.words) == 0 {
		return wholeName(t, f)
	}
	all := wholeName(t, f)
	if effort != search.Least {
		all = append(all, clause{tier: tierWords, field: f, found: match(string(f), t.name), nearer: inOrder(f, t.words)})
		all = append(all, lastBegins(t, f))
	}
	if len(t.words) > 1 || effort == search.Least {
		all = append(all, clause{tier: tierBegins, field: f, found: begun(f, t.words), nearer: wholeWords(f, t.words)})
	}
	return all
}

func wholeName(t text, f search.Field) []clause {
	texts := []string{t.whole}
	if t.name != t.whole && t.name != "" {
		texts = append(texts, t.name)
	}
	return []clause{{tier: tierName, field: f, found: equal(string(f)+".keyword", texts)}}
}

// lastBegins returns the clause for a name that is still being typed: complete words, and the beginning of another
// word.
func lastBegins(t text, f search.Field) clause {
	head, tail := t.words[:len(t.words)-1], t.words[len(t.words)-1]
	c := clause{tier: tierLast, field: f, found: begun(f, []string{tail})}
	if len(head) > 0 {
		c.found = every(match(string(f), strings.Join(head, " ")), c.found)
		c.nearer = inOrder(f, head)
	}
	return c
}

// inOrder ranks names higher if they have the words next to each other.
func inOrder(f search.Field, of []string) []nearer {
	if len(of) < 2 {
		return nil
	}
	return []nearer{{compare(Adjacent, string(f), strings.Join(of, " ")), 0.5}}
}

// wholeWords ranks names higher if they have more of the words as typed.
func wholeWords(f search.Field, of []string) []nearer {
	if len(of) < 2 || len(of) > maxWords {
		return nil
	}
	var each []nearer
	for _, w := range of {
		each = append(each, nearer{match(string(f), w), 0.8 / float64(len(of))})
	}
	return each
}

// alike ranks names of the same sound higher if they are spelled as typed, or begin with half or three quarters of the
// letters.
func alike(f search.Field, of []string) []nearer {
	if len(of) > maxWords {
		return nil
	}
	share := 0.3 / float64(len(of))
	var each []nearer
	for _, w := range of {
		letters := []rune(w)
		each = append(each, nearer{match(string(f), w), share})
		if len(letters) >= minFuzzy {
			each = append(each, nearer{match(prefix(f), string(letters[:len(letters)/2])), share},
				nearer{match(prefix(f), string(letters[:len(letters)*3/4])), share})
		}
	}
	return each
}

// bySound returns a query for names that have, for each word, a word of the same sound or one that begins with it.
// alone is set if the text has no other word. ok is false if no word has a sound.
func bySound(t text, alone bool) (Query, bool) {
	var all []Query
	sounds := false
	for _, w := range t.words {
		parts, ok := spoken(w)
		if !ok {
			return Query{}, false
		}
		for _, p := range parts {
			q := begun(search.FullName, []string{p})
			if alike, ok := sounding(p, alone && len(parts) == 1); ok {
				sounds = true
				q = either(alike, q)
			}
			all = append(all, q)
		}
	}
	return every(all...), sounds
}

// mayBeWrong reports whether a word may have a typing error: it is a name of at least minFuzzy letters, not an
// identifier or e-mail address.
func mayBeWrong(w string) bool {
	return utf8.RuneCountInString(w) >= minFuzzy && !strings.ContainsFunc(w, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’.,-", r)
	})
}

func prefix(f search.Field) string { return prefixes[f] }

// begun returns a query for names with words that begin with the given words. The index has prefixes of up to maxBegun
// letters; longer words are compared with the words of the name.
func begun(f search.Field, of []string) Query {
	var short []string
	var all []Query
	for _, w := range of {
		if isLong(w) {
			all = append(all, compare(Begins, string(f), userindex.Fold(w)))
		} else {
			short = append(short, w)
		}
	}
	if len(short) > 0 {
		all = append(all, match(prefix(f), strings.Join(short, " ")))
	}
	return every(all...)
}

// isLong reports whether a word is longer than the indexed prefixes. Words that the engine splits are not: those with
// other characters than letters and digits, and Chinese and Japanese ones.
func isLong(w string) bool {
	return utf8.RuneCountInString(w) > maxBegun && !strings.ContainsFunc(w, func(r rune) bool {
		return !isWordRune(r) && !unicode.IsMark(r) || unicode.In(r, unicode.Han, unicode.Hiragana)
	})
}

// begins reports whether the query compares the beginnings of words of a name.
func (q *Query) begins() bool {
	return q.Kind == Begins || strings.HasSuffix(q.Field, ".prefix") || slices.ContainsFunc(q.Of, func(one Query) bool { return one.begins() })
}

// prefixes maps fields to the index fields that contain their prefixes.
var prefixes = partNames("prefix")

func partNames(part string) map[search.Field]string {
	names := make(map[search.Field]string, len(table))
	for _, f := range table {
		names[f] = string(f) + "." + part
	}
	return names
}
