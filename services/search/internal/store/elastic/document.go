package elastic

import (
	"strconv"

	"github.com/labplatform/labplatform/pkg/phonetic"
	"github.com/labplatform/labplatform/pkg/userindex"
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
	case userindex.Identifiers:
		var all []string
		for _, f := range table {
			if f.Kind() != search.Identifier && f.Kind() != search.Segmented {
				continue
			}
			for _, id := range s.values(string(f)) {
				for _, form := range userindex.Compacts(id) {
					all = append(all, userindex.IdentifierForm(string(f), form))
				}
			}
		}
		return all
	}
	return nil
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
