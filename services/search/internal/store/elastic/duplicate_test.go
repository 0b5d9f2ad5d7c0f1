package elastic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestWhoMayBeTheSamePersonIsFoundWithTheReason(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma", Contact: "+91 98765 43210", DateOfBirth: "1990-02-11"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Mr Raahool Sarma", Contact: "9000000001", DateOfBirth: "1990-02-11"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Rahul Sharma", Contact: "9000000002", DateOfBirth: "1985-05-05"},
		indextest.Row{UserID: 4, LabID: 7, FullName: "Sunita Sharma", Contact: "9876543210", DateOfBirth: "1990-02-11"},
		indextest.Row{UserID: 5, LabID: 7, FullName: "Sharma Rahul Kumar", AlternateContact: "09876543210"},
		indextest.Row{UserID: 7, LabID: 7, FullName: "Leela Joshi", Contact: "9811111111", DateOfBirth: "1971-06-17"},
		indextest.Row{UserID: 8, LabID: 7, FullName: "Sunita Patil", Contact: "9822222222", DateOfBirth: "1980-01-01"},
		indextest.Row{UserID: 9, LabID: 7, FullName: "R. Verma", Contact: "9833333333"},
		indextest.Row{UserID: 10, LabID: 7, FullName: "Jayalakshmi", Contact: "9844444444", DateOfBirth: "1960-03-11"},
		indextest.Row{UserID: 11, LabID: 7, FullName: "Krishnamurthy Raju", Contact: "9855555555", DateOfBirth: "1961-04-12"},
		indextest.Row{UserID: 6, LabID: 8, FullName: "Rahul Sharma", Contact: "9876543210", DateOfBirth: "1990-02-11"},
	)
	type hit struct {
		ID  int64
		Why []search.Field
	}
	name, number, other, birth := search.FullName, search.Contact, search.AlternateContact, search.DateOfBirth
	for text, want := range map[string][]hit{
		"Rahul Sharma 11/02/1990": {{1, []search.Field{name, birth}}, {2, []search.Field{name, birth}}, {4, []search.Field{name, birth}}},
		"Rahul Sharma 1990-02-11 9876543210": {{1, []search.Field{name, number, birth}}, {4, []search.Field{name, number, birth}},
			{5, []search.Field{name, other}}, {2, []search.Field{name, birth}}},
		"rahul sarma +919000000001":                {{2, []search.Field{name, number}}},
		"Anil Kumar 1990-02-11":                    nil,
		"Rahul Kumar Sharma 05/05/1985 9876511111": {{3, []search.Field{name, birth}}},
		"Lata Mehta 17/06/1971 9811111111":         {{7, []search.Field{number, birth}}},
		"Sunita Deshmukh 9822222222":               {{8, []search.Field{name, number}}},
		"Rahul Verma 9833333333":                   {{9, []search.Field{name, number}}},
		"Jaya Lakshmi 11-Mar-1960":                 {{10, []search.Field{name, birth}}},
		"Jaya Lakshmi 11/03/60":                    {{10, []search.Field{name, birth}}},
		"Rahulsharma 05/05/1985":                   {{3, []search.Field{name, birth}}},
		"Rahul Sharma 9000000002 45":               {{3, []search.Field{name, number}}},
		"Rahul Sharma 9000000002 9123456780":       {{3, []search.Field{name, number}}},
		"Rahul Sharma mob: 9000000002, 41 yrs":     {{3, []search.Field{name, number}}},
		"Krishnakumar Gopal 9855555555":            nil, // part of a word of the name is not sufficient
		"Krishnakumar Menon 12/04/1961":            nil,
		"Anita Rao 9822222222":                     nil, // a relative: another name, and nothing else is equal
	} {
		var got []hit
		for _, h := range i.search(7, text, search.Duplicate, search.Full).Hits {
			got = append(got, hit{h.UserID, h.Matched})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: got %s, want none", text, diff)
		}
	}
}

// TestALongNameHidesNoDuplicate: names of Portuguese, Arabic and South Indian families often have seven words and more.
// The patient who is registered already must be found, otherwise the desk registers the patient again.
func TestALongNameHidesNoDuplicate(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Maria Fernanda da Silva Santos de Oliveira", Contact: "9800000001", DateOfBirth: "1990-02-11"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "محمد بن عبد الرحمن بن فيصل آل سعود", DateOfBirth: "1970-05-06"},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Leela Joshi", Contact: "9800000003", DateOfBirth: "1971-06-17"},
	)
	for text, want := range map[string]string{
		"Maria Fernanda da Silva Santos de Oliveira 1990-02-11":              "exact",
		"Maria Fernanda da Silva Santos de Oliveira 9800000001":              "exact",
		"محمد بن عبد الرحمن بن فيصل آل سعود 1970-05-06":                      "exact",
		"Mohammed bin Abdul Rahman bin Faisal Al Saud 1970-05-06":            "sound",
		"Joana Maria da Silva Santos de Oliveira Lima 1971-06-17 9800000003": "tolerant",
	} {
		hits := i.search(7, text, search.Duplicate, search.Full).Hits
		if len(hits) != 1 || hits[0].Match.String() != want {
			t.Errorf("%q: got %+v, want one hit of %s", text, hits, want)
		}
	}
}
