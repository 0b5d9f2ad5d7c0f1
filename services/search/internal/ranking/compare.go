package ranking

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// shows reports whether the card contains what the query finds. sure is false if this cannot be determined from the
// card: for sounds, typing errors and joined forms of names.
func (q *Query) shows(card *userindex.Card) (shown, sure bool) {
	switch q.Kind {
	case AnyOf:
		sure = true
		for i := range q.Of {
			one, known := q.Of[i].shows(card)
			if one {
				return true, true
			}
			sure = sure && known
		}
		return false, sure
	case AllOf:
		sure = true
		for i := range q.Of {
			one, known := q.Of[i].shows(card)
			if known && !one {
				return false, true
			}
			sure = sure && known
		}
		return sure, sure
	case Similar, Corrected:
		return false, false
	}
	base, part, _ := strings.Cut(q.Field, ".")
	switch base {
	case userindex.Joined, userindex.Sounds, userindex.Misspelled:
		return false, false
	case userindex.Identifiers:
		return identified(card, q.Texts), true
	}
	like := comparisonOf(search.Field(base).Kind(), q.Kind, part)
	for _, value := range values(card, base) {
		value = userindex.Plain(value)
		if slices.ContainsFunc(q.Texts, func(asked string) bool { return like(value, asked) }) {
			return true, true
		}
	}
	return false, true
}

// comparisonOf returns the function that compares values of a field with query texts, given the kinds of the field and
// the query, and the part of the field.
func comparisonOf(of search.Kind, kind Kind, part string) func(value, asked string) bool {
	switch {
	case of == search.Phone:
		return comparePhones(part)
	case of == search.Name && part == "keyword":
		return sameText
	case of == search.Name && (part == "prefix" || kind == Begins):
		return func(value, asked string) bool { return everyWordOf(asked, value, strings.HasPrefix) }
	case of == search.Name:
		return func(value, asked string) bool { return everyWordOf(asked, value, equalTo) }
	case part == "segment":
		return func(value, asked string) bool {
			return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("-/~", r) }),
				func(segment string) bool { return everyWordOf(asked, segment, equalTo) })
		}
	case kind == Begins, kind == InYear, part == "prefix":
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

// everyWordOf reports whether like holds for each searched word and some word of the value.
func everyWordOf(asked, value string, like func(word, asked string) bool) bool {
	words := userindex.Written(value)
	all := userindex.Written(asked)
	for _, a := range all {
		if !slices.ContainsFunc(words, func(w string) bool { return like(w, a) }) {
			return false
		}
	}
	return len(all) > 0
}

// values returns the values that the pipeline indexes in a field.
func values(card *userindex.Card, field string) []string {
	switch search.Field(field) {
	case search.FullName:
		return one(card.FullName)
	case search.Contact:
		return one(card.Contact)
	case search.AlternateContact:
		return one(card.AlternateContact)
	case search.Email:
		return one(card.Email)
	case search.DateOfBirth:
		return one(card.DateOfBirth)
	case search.UserID:
		return numbers(card.UserID)
	case search.LabPatientID:
		return one(card.LabPatientID)
	case search.NationalID:
		return one(card.NationalIdentityNumber)
	case search.PassportNo:
		return one(card.PassportNo)
	case search.BillIDs:
		return numbers(card.BillIDs...)
	case search.LabBillIDs:
		return numbers(card.LabBillIDs...)
	case search.OrderNumbers:
		return card.OrderNumbers
	case search.LabReportIDs:
		return numbers(card.LabReportIDs...)
	case search.LrfIDs:
		return card.LrfIDs
	case search.SampleIDs:
		return card.SampleIDs
	case search.ManualSampleIDs:
		return card.ManualSampleIDs
	}
	return nil
}

// identified reports whether an identifier of the card has one of the searched forms, which have the form "field:form".
func identified(card *userindex.Card, asked []string) bool {
	for _, a := range asked {
		field, form, _ := strings.Cut(a, ":")
		if slices.ContainsFunc(values(card, field), func(id string) bool {
			id = userindex.Plain(id)
			return holdsDigits(id, form) && slices.Contains(userindex.Compacts(id), form)
		}) {
			return true
		}
	}
	return false
}

// holdsDigits is a fast filter: it returns false if the identifier cannot have the form, without computing its forms.
// It rejects most identifiers by one digit.
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
