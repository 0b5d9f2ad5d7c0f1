package elastic

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// document is a hit with the values and terms of its fields, as far as anybody asked for them.
type document struct {
	source *source
	sets   [maxSets]contents // by analysis.set
}

type contents struct {
	values, terms []string
	read, taken   bool // values are known, and terms are taken of them
}

// valuesOf returns the values of a field.
func (d *document) valuesOf(a *analysis) []string {
	c := &d.sets[a.set]
	if !c.read {
		c.values, c.read = d.source.values(a.base), true
	}
	return c.values
}

// termsOf returns the terms of a field before beginnings and parts are taken of them.
func (d *document) termsOf(a *analysis) []string {
	c := &d.sets[a.set]
	if !c.taken {
		c.terms, c.taken = a.index(d.valuesOf(a)), true
	}
	return c.terms
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
	return s.forms(field)
}

// forms returns those of package userindex, which are not read from the document: they are long.
func (s *source) forms(field string) []string {
	switch field {
	case userindex.Joined:
		return userindex.Names(s.FullName)
	case userindex.Sounds:
		return phonetic.Codes(userindex.Latin(s.FullName))
	case userindex.Misspelled:
		return userindex.Misspellings(s.FullName)
	}
	return nil
}

// identified tells whether an identifier has one of the forms that are asked for, each under its field.
func (s *source) identified(asked []string) bool {
	for _, a := range asked {
		field, form, _ := strings.Cut(a, ":")
		has := func(id string) bool {
			return endsLike(id, form) && slices.Contains(userindex.Compacts(id), form)
		}
		if slices.ContainsFunc(s.values(field), has) {
			return true
		}
	}
	return false
}

// endsLike is false when no form of an identifier is form: all of them end as it does, but for separators and the case
// of letters.
func endsLike(id, form string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(id, func(r rune) bool { return !isWordRune(r) }))
	asked, _ := utf8.DecodeLastRuneInString(form)
	return last >= utf8.RuneSelf || asked >= utf8.RuneSelf || unicode.ToUpper(last) == unicode.ToUpper(asked)
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
