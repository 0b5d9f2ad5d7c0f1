package search

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Said holds the parts of a text by their meaning. Users at a counter type what is written on a slip of paper, which
// may contain more than the registration.
type Said struct {
	Names   []string // words of the name, without titles, sex, age and relatives
	Births  []string // birth dates, YYYY-MM-DD; two for a two-digit year, one per century
	Years   []string // four-digit years of birth
	Numbers []Number
	// More reports whether the text contains more than a name, a number, or both.
	More bool
}

// Number is a telephone number or an identifier in a text.
type Number struct {
	Text  string
	Of    []Field // fields named by a label before the number; nil without a label
	Birth string  // YYYY-MM-DD, if the number may be a birth date; otherwise ""
}

// minTelephone is the minimum number of digits of a telephone number. A shorter number may be an age or a house number.
const minTelephone = 7

// Say splits a text into its parts.
func Say(typed string) Said {
	typed = ofTheEnd.ReplaceAllString(ofSample.ReplaceAllString(typed, "$1# $2"), " tel $1")
	r := reader{words: wordsOf(typed)}
	r.said.More = slices.ContainsFunc(strings.Fields(typed), func(w string) bool {
		return hasDigit(w) && !slices.Equal(wordsOf(w), []string{w})
	})
	for r.at < len(r.words) {
		r.at += r.read()
	}
	return r.end()
}

// reader parses a text word by word.
type reader struct {
	words []string
	at    int
	said  Said

	kin      []string // words after a relation, which are the name of a relative
	ofKin    bool
	labels   []string // labels whose number has not been read yet
	labelled []Field
}

// read parses the part that begins at the current word, and returns its number of words.
func (r *reader) read() int {
	word := r.words[r.at]
	if days, n := r.birth(); n > 0 {
		r.said.Births, r.said.More = append(r.said.Births, days...), true
		r.unlabel()
		return n
	}
	plain := strings.ToLower(strings.ReplaceAll(word, ".", ""))
	switch {
	case isLabel(word):
		r.labels = append(r.labels, word)
		if of := labels[plain]; of != nil {
			r.labelled = of
		}
	case filler[plain]:
		r.said.More = true
	case plain == "sex" || plain == "gender":
		return r.sex()
	case strings.ContainsRune(word, '@'):
		r.labelled = mail
		r.number(word)
	case digitsOf(word) != "":
		return r.digits()
	case hasDigit(word) && isAge(plain):
		r.said.More = true
	case hasDigit(word):
		r.named(word)
	default:
		return r.name(word)
	}
	return 1
}

// birth parses a date of one or three words. Three numbers are a date only if the year has four digits.
func (r *reader) birth() ([]string, int) {
	if days := daysOf(r.words[r.at]); days != nil {
		return days, 1
	}
	const parts = 3
	if r.at+parts > len(r.words) {
		return nil, 0
	}
	days := daysOf(strings.Join(r.words[r.at:r.at+parts], "-"))
	if days == nil || len(days) > 1 && digitsOf(r.words[r.at+1]) != "" {
		return nil, 0
	}
	return days, parts
}

// digits parses consecutive words of digits. A word of at least minTelephone digits is a telephone number. Shorter
// words are joined, except for a year and an age.
func (r *reader) digits() int {
	n := 1
	for r.at+n < len(r.words) && digitsOf(r.words[r.at+n]) != "" && len(daysOf(r.words[r.at+n])) == 0 {
		n++
	}
	run := r.words[r.at : r.at+n]
	if n == 1 && isYear(run[0]) && len(r.labels) == 0 {
		r.said.Years, r.said.More = append(r.said.Years, run[0]), true
		return 1
	}
	of, part := r.labelled, ""
	named := len(r.labels) > 0
	flush := func() {
		if part != "" && (named || !isAge(part)) {
			r.numberOf(part, of)
		}
		part = ""
	}
	for _, word := range run {
		d, code := digitsOf(word), strings.HasPrefix(part, "0") || strings.HasPrefix(part, "91")
		if len(d) < minTelephone || code && len(part) < minTelephone {
			part += d
			continue
		}
		flush()
		r.numberOf(d, of)
	}
	flush()
	if named {
		r.unlabel()
		return n
	}
	if last := r.at + n; isAge(run[n-1]) && last < len(r.words) && isSexOrMonths(r.words[last]) {
		n++
	}
	return n
}

// isSexOrMonths reports whether a word after an age belongs to it: 36 M, 12 F, 7 M.
func isSexOrMonths(word string) bool {
	return strings.EqualFold(word, "m") || strings.EqualFold(word, "f")
}

// sex skips the label and the sex after it.
func (r *reader) sex() int {
	r.said.More = true
	if r.at+1 < len(r.words) && strings.Contains("male female", strings.ToLower(r.words[r.at+1])) {
		return 2
	}
	return 1
}

// named parses a number that may be joined to a name. After a label, the whole word is a number.
func (r *reader) named(word string) {
	if name, number, ok := nameAt(word); ok && len(r.labels) == 0 {
		r.said.More = true
		r.name(name)
		word = number
	}
	r.number(word)
}

func (r *reader) number(word string) {
	r.numberOf(word, r.labelled)
	r.unlabel()
}

func (r *reader) numberOf(text string, of []Field) {
	n := Number{Text: text, Of: of}
	if day, ok := dayOfDigits(text); ok {
		n.Birth = day
	}
	r.said.More = r.said.More || len(r.labels) > 0 || len(r.said.Numbers) > 0 || n.Birth != ""
	r.said.Numbers = append(r.said.Numbers, n)
}

// unlabel clears the labels after their number has been read.
func (r *reader) unlabel() { r.labels, r.labelled = nil, nil }

// name parses a word of a name, or a relation to another person. Preceding labels without a number count as names, such
// as Bill.
func (r *reader) name(word string) int {
	r.relabel()
	next := ""
	if r.at+1 < len(r.words) {
		next = strings.ToLower(r.words[r.at+1])
	}
	plain := strings.ToLower(strings.ReplaceAll(word, ".", "/"))
	switch {
	case relations[plain]:
		r.ofKin, r.said.More = true, true
		return 1
	case relatives[plain] && next == "of":
		r.ofKin, r.said.More = true, true
		return 2
	case relatives[plain] && plain != "care":
		r.ofKin, r.said.More = true, true
		return 1
	case len(plain) > 3 && relations[plain[:3]]:
		r.ofKin, r.said.More, word = true, true, word[3:]
	}
	if r.ofKin {
		r.kin = append(r.kin, word)
		return 1
	}
	r.said.Names = append(r.said.Names, word)
	return 1
}

func (r *reader) relabel() {
	for _, label := range r.labels {
		if plain := strings.ToLower(label); label != "#" && plain != "no" && plain != "dob" {
			r.said.Names = append(r.said.Names, label)
		}
	}
	r.unlabel()
}

func (r *reader) end() Said {
	r.relabel()
	if len(r.said.Names) == 0 {
		r.said.Names = r.kin
	}
	if len(r.said.Names) > 0 {
		person := userindex.Describe(strings.Join(r.said.Names, " "))
		r.said.Names = strings.Fields(person.Name)
	}
	return r.said
}
