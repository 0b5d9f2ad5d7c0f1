package elastic

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// shows tells whether a card shows what a query finds. sure is false for what cannot be seen on it: forms of names by
// their sound, with a typing error or joined.
func (q *query) shows(s *source) (shown, sure bool) {
	switch q.kind {
	case anyOf:
		sure = true
		for i := range q.of {
			one, known := q.of[i].shows(s)
			if one {
				return true, true
			}
			sure = sure && known
		}
		return false, sure
	case allOf:
		sure = true
		for i := range q.of {
			one, known := q.of[i].shows(s)
			if known && !one {
				return false, true
			}
			sure = sure && known
		}
		return sure, sure
	case similar:
		return false, false
	}
	base, part, _ := strings.Cut(q.field, ".")
	switch base {
	case userindex.Joined, userindex.Sounds, userindex.Misspelled:
		return false, false
	case userindex.Identifiers:
		return s.identified(q.texts), true
	}
	like := comparisonOf(search.Field(base).Kind(), q.kind, part)
	for _, value := range s.values(base) {
		if slices.ContainsFunc(q.texts, func(asked string) bool { return like(value, asked) }) {
			return true, true
		}
	}
	return false, true
}

// comparisonOf returns how values of a field are compared with what is asked.
func comparisonOf(of search.Kind, kind kind, part string) func(value, asked string) bool {
	switch {
	case of == search.Phone:
		return comparePhones(part)
	case of == search.Name && part == "keyword":
		return sameText
	case of == search.Name && part == "prefix":
		return func(value, asked string) bool { return everyWordOf(asked, value, strings.HasPrefix) }
	case of == search.Name:
		return func(value, asked string) bool { return everyWordOf(asked, value, equalTo) }
	case part == "segment":
		return func(value, asked string) bool {
			return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-/~", r) }),
				func(segment string) bool { return everyWordOf(asked, segment, equalTo) })
		}
	case kind == begins, kind == inYear, part == "prefix":
		return func(value, asked string) bool { return strings.HasPrefix(userindex.Fold(value), userindex.Fold(asked)) }
	}
	return sameText
}

func comparePhones(part string) func(value, asked string) bool {
	return func(value, asked string) bool {
		value, asked = digits(value), digits(asked)
		switch part {
		case "prefix":
			return strings.HasPrefix(value, asked)
		case "suffix":
			return strings.HasSuffix(value, lastDigits(asked))
		case "middle":
			return strings.Contains(value, asked)
		}
		return value == asked
	}
}

func sameText(value, asked string) bool { return userindex.Fold(value) == userindex.Fold(asked) }

func equalTo(word, asked string) bool { return word == asked }

// everyWordOf tells whether each word that is asked is like a word of the value.
func everyWordOf(asked, value string, like func(word, asked string) bool) bool {
	words := userindex.Words(value)
	all := userindex.Words(asked)
	for _, a := range all {
		if !slices.ContainsFunc(words, func(w string) bool { return like(w, a) }) {
			return false
		}
	}
	return len(all) > 0
}

// values returns what the pipeline writes into a field.
func (s *source) values(field string) []string {
	switch search.Field(field) {
	case search.FullName:
		return one(s.FullName)
	case search.Contact:
		return one(s.Contact)
	case search.AlternateContact:
		return one(s.AlternateContact)
	case search.Email:
		return one(s.Email)
	case search.DateOfBirth:
		return one(s.DateOfBirth)
	case search.UserID:
		return numbers(s.UserID)
	case search.LabPatientID:
		return one(s.LabPatientID)
	case search.NationalID:
		return one(s.NationalIdentityNumber)
	case search.PassportNo:
		return one(s.PassportNo)
	case search.BillIDs:
		return numbers(s.BillIDs...)
	case search.LabBillIDs:
		return numbers(s.LabBillIDs...)
	case search.OrderNumbers:
		return s.OrderNumbers
	case search.LabReportIDs:
		return numbers(s.LabReportIDs...)
	case search.LrfIDs:
		return s.LrfIDs
	case search.SampleIDs:
		return s.SampleIDs
	case search.ManualSampleIDs:
		return s.ManualSampleIDs
	}
	return nil
}

// identified tells whether an identifier has one of the forms that are asked for, each under its field.
func (s *source) identified(asked []string) bool {
	for _, a := range asked {
		field, form, _ := strings.Cut(a, ":")
		if slices.ContainsFunc(s.values(field), func(id string) bool {
			return holdsDigits(id, form) && slices.Contains(userindex.Compacts(id), form)
		}) {
			return true
		}
	}
	return false
}

// holdsDigits is false when an identifier cannot have a form: most end here, without the work of making its forms.
func holdsDigits(id, form string) bool {
	last := strings.LastIndexFunc(form, unicode.IsDigit)
	return last < 0 || strings.ContainsRune(id, rune(form[last]))
}

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func numbers(values ...int64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(v, 10)
	}
	return texts
}
