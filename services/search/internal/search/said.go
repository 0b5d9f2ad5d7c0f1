package search

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Said is what a text says about a patient, each word by what it is: whoever stands at a counter types what is on a
// slip of paper, and more of it than the register holds.
type Said struct {
	Names   []string // words of the name, without titles, sex and age
	Births  []string // YYYY-MM-DD; two for a year of two digits, one in each century
	Years   []string // of birth, of four digits
	Numbers []Number
	// More tells that the text says more than a name, a number, or both.
	More bool
}

// Number is a telephone number or an identifier.
type Number struct {
	Text string
	Of   []Field // of which kind the text calls it; nil: it does not say
}

// minTelephone is how many digits are a telephone number, and not an age or the number of a house.
const minTelephone = 7

// Say takes a text apart.
func Say(typed string) Said {
	r := reader{words: wordsOf(typed)}
	r.said.More = slices.ContainsFunc(strings.Fields(typed), func(w string) bool {
		return hasDigit(w) && w != strings.Trim(w, separators+trimmed)
	})
	for r.at < len(r.words) {
		r.at += r.read()
	}
	return r.end()
}

// What stands between words, and around them.
const (
	separators = ",;:()[]#|"
	trimmed    = ".-/"
)

// wordsOf returns the words of a text without what surrounds them. A "#" is a word: it says that a number follows.
func wordsOf(typed string) []string {
	spaced := strings.NewReplacer("#", " # ", `\`, "/").Replace(typed)
	var words []string
	for _, word := range strings.FieldsFunc(spaced, func(r rune) bool {
		return unicode.IsSpace(r) || r != '#' && strings.ContainsRune(separators, r)
	}) {
		if word = strings.TrimLeft(strings.TrimRight(word, trimmed), "/."); word != "" {
			words = append(words, split(word)...)
		}
	}
	return words
}

// split takes apart what is often written without a blank: two telephone numbers, and labels before a number.
func split(word string) []string {
	parts := strings.Split(word, "/")
	if !slices.ContainsFunc(parts, func(p string) bool { return len(digitsOf(p)) < minTelephone }) {
		return parts
	}
	if digit := strings.IndexFunc(word, unicode.IsDigit); digit > 0 {
		before := strings.Split(strings.TrimRight(word[:digit], "."), ".")
		if !slices.ContainsFunc(before, func(l string) bool { return !isLabel(l) }) {
			return append(before, word[digit:])
		}
	}
	return []string{word}
}

// reader reads a text word by word.
type reader struct {
	words []string
	at    int
	said  Said

	kin      []string // words behind a relation, which are of somebody else's name
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
	case besides[plain]:
		r.said.More = true
	case digitsOf(word) != "":
		return r.digits()
	case hasDigit(word) && isAge(plain):
		r.said.More = true
	case hasDigit(word):
		r.number(word)
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

func (r *reader) number(word string) {
	r.numberOf(word, r.labelled)
	r.unlabel()
}

func (r *reader) numberOf(text string, of []Field) {
	r.said.More = r.said.More || len(r.labels) > 0 || len(r.said.Numbers) > 0
	r.said.Numbers = append(r.said.Numbers, Number{text, of})
}

// unlabel forgets the labels: what they belong to has come.
func (r *reader) unlabel() { r.labels, r.labelled = nil, nil }

// name reads a word of a name, or a relation to somebody else. Labels that no number followed were names: Bill is one.
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

var (
	phones  = []Field{Contact, AlternateContact}
	bills   = []Field{BillIDs, LabBillIDs}
	orders  = []Field{OrderNumbers}
	reports = []Field{LabReportIDs, LrfIDs}
	samples = []Field{SampleIDs, ManualSampleIDs}
)

// labels are what stands before a number; those of nil do not say which fields it is of.
var labels = map[string][]Field{
	"mob": phones, "mobile": phones, "ph": phones, "phone": phones, "tel": phones, "telephone": phones, "cell": phones,
	"contact": phones, "whatsapp": phones, "mb": phones,
	"bill": bills, "invoice": bills, "inv": bills, "receipt": bills, "order": orders, "ord": orders,
	"report": reports, "rpt": reports, "sample": samples, "barcode": samples,
	"id": nil, "uhid": nil, "mrn": nil, "pid": nil, "reg": nil, "patient": nil, "#": nil, "no": nil, "nr": nil,
	"num": nil, "number": nil, "dob": nil, "born": nil, "birth": nil, "birthdate": nil,
}

func isLabel(word string) bool {
	_, ok := labels[strings.ToLower(strings.ReplaceAll(word, ".", ""))]
	return ok
}

// besides are words that say nothing about who is meant.
var besides = words("self pt late ji sir madam name and or & and/or")

// relations are how people write whose wife or child somebody is, and relatives the same in words, before "of".
var (
	relations = words("w/o s/o d/o c/o h/o f/o m/o wo so")
	relatives = words("wife son daughter husband father mother sister brother guardian care")
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// digitsOf returns the digits of a word that holds nothing else but what people put between them, else "".
func digitsOf(word string) string {
	if strings.Trim(word, "0123456789+-().") != "" {
		return ""
	}
	return strings.NewReplacer("+", "", "-", "", "(", "", ")", "", ".", "").Replace(word)
}

const (
	oldest    = 120
	firstYear = 1900
	lastYear  = 2099
)

// isAge tells whether a word is an age, perhaps with the sex: 36, 36y, 36/M.
func isAge(word string) bool {
	word, sex, _ := strings.Cut(strings.ToLower(word), "/")
	if !strings.Contains("male female", sex) {
		return false
	}
	years, err := strconv.Atoi(strings.TrimRight(word, "yrs"))
	return err == nil && years <= oldest && !strings.HasPrefix(word, "0")
}

func isYear(word string) bool {
	year, err := strconv.Atoi(word)
	return err == nil && year >= firstYear && year <= lastYear
}
