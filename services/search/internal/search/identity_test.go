package search_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestATextOfDuplicatesTellsAPerson(t *testing.T) {
	t.Parallel()
	birth := []string{"1990-02-11"}
	for text, want := range map[string]search.Identity{
		"Rahul Sharma 1990-02-11":                 {Name: "rahul sharma", Births: birth},
		"11/2/1990 Rahul Sharma":                  {Name: "rahul sharma", Births: birth},
		"Rahul Sharma 11-Feb-1990":                {Name: "rahul sharma", Births: birth},
		"Rahul Sharma 11 feb 1990":                {Name: "rahul sharma", Births: birth},
		"Rahul Sharma 11/02/90":                   {Name: "rahul sharma", Births: []string{"1990-02-11", "2090-02-11"}},
		"Rahul 29/02/00":                          {Name: "rahul", Births: []string{"2000-02-29"}},
		"Rahul 11.02.1990 Sharma 98765-43210":     {Name: "rahul sharma", Births: birth, Phones: []string{"9876543210"}},
		"Rahul +91 98765 43210":                   {Name: "rahul", Phones: []string{"919876543210"}},
		"Md. Yusuf (022) 234 5678":                {Name: "md yusuf", Phones: []string{"0222345678"}},
		"Md. Yusuf 022 2345678":                   {Name: "md yusuf", Phones: []string{"0222345678"}},
		"Rahul Sharma 9876543210 45":              {Name: "rahul sharma", Phones: []string{"9876543210"}},
		"Rahul Sharma 36 9876543210":              {Name: "rahul sharma", Phones: []string{"9876543210"}},
		"Rahul Sharma 9876543210 9123456780":      {Name: "rahul sharma", Phones: []string{"9876543210", "9123456780"}},
		"Rahul s/o Anil mob: 9876543210":          {Name: "rahul", Phones: []string{"9876543210"}},
		"Rahul Sharma 11021990":                   {Name: "rahul sharma", Births: birth, Phones: []string{"11021990"}},
		"Rahul Sharma 23456780":                   {Name: "rahul sharma", Phones: []string{"23456780"}},
		"Mr Rahul Sharma, 36 Y, Male, 11/02/1990": {Name: "rahul sharma", Births: birth},
		"Rahul Sharma 36 M 11/02/1990":            {Name: "rahul sharma", Births: birth},
		"Rahul M Sharma 11/02/1990":               {Name: "rahul m sharma", Births: birth},
	} {
		q, err := search.NewQuery(search.Request{Query: text, Key: "duplicate"}, 10)
		if diff := cmp.Diff(want, q.Identity); err != nil || diff != "" {
			t.Errorf("%q: error %v: %s", text, err, diff)
		}
	}
	for _, text := range []string{"Rahul Sharma", "1990-02-11", "98765 43210 1990-02-11", "Rahul 45", "Rahul 31/02/1990"} {
		_, err := search.NewQuery(search.Request{Query: text, Key: "duplicate"}, 10)
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Invalid || e.Fields[0].Name != "query" || !strings.Contains(e.Fields[0].Message, "birth date") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestASearchForDuplicatesThatComparesNothingIsRefused: with fields that the text does not tell, no one would be found,
// and the desk would register the patient again.
func TestASearchForDuplicatesThatComparesNothingIsRefused(t *testing.T) {
	t.Parallel()
	const text = "Rahul Sharma 1990-02-11"
	for _, fields := range [][]string{{"full_name"}, {"full_name", "contact", "alternate_contact"}, {"date_of_birth"}, {"contact", "date_of_birth"}} {
		_, err := search.NewQuery(search.Request{Query: text, Key: "duplicate", Fields: fields}, 10)
		if e, ok := apperr.From(err); !ok || len(e.Fields) != 1 || e.Fields[0].Name != "search_fields" {
			t.Errorf("%v: got %v, want search_fields to be refused", fields, err)
		}
	}
	for _, fields := range [][]string{nil, {"full_name", "date_of_birth"}} {
		if _, err := search.NewQuery(search.Request{Query: text, Key: "duplicate", Fields: fields}, 10); err != nil {
			t.Errorf("%v: %v", fields, err)
		}
	}
}
