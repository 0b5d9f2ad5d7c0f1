package search

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Said is what a text says about a patient, each word by what it is: anyone who stands at a counter types what is on a
// slip of paper, and more of it than the register holds.
type Said struct {
	Names   []string // words of the name, without titles, sex and age
	Births  []string // YYYY-MM-DD; two for a year of two digits, one in each century
	Years   []string // of birth, of four digits
	Numbers []Number
	// More reports that the text says more than a name, a number, or both.
	More bool
}

// Number is a telephone number or an identifier.
type Number struct {
	Text  string
	Of    []Field // of which kind the text calls it; nil: it does not say
	Birth string  // the birth date, YYYY-MM-DD, that it may be instead; "" if it can be none
}

// minTelephone is how many digits are a telephone number, and not an age or the number of a house.
const minTelephone = 7

// Say takes a text apart.
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

// reader reads a text word by word.
type reader struct {
	words []string
	at    int
	said  Said

	kin      []string // words behind a relation, which are of someone else's name
	ofKin    bool
	labels   []string // that no number has followed yet
	labelled []Field
}

// read reads what begins at the present word, and returns of how many words that is.
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

// birth reads a date of one word, or of three. Three numbers are one with a year of four digits only.
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

// digits reads a run of words of digits. A word that is long enough is a telephone number of its own; shorter ones are
// parts of one, but for a year and an age.
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
	}
	return n
}

// sex reads the word and what follows it.
func (r *reader) sex() int {
	r.said.More = true
	if r.at+1 < len(r.words) && strings.Contains("male female", strings.ToLower(r.words[r.at+1])) {
		return 2
	}
	return 1
}

// named reads a number, perhaps with a name at it. What a label calls a number is one as a whole.
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

// unlabel clears the labels once the number that they describe was read.
func (r *reader) unlabel() { r.labels, r.labelled = nil, nil }

// name reads a word of a name, or a relation to someone else. Labels that no number followed were names: Bill is one.
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
