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
		indextest.Row{UserID: 6, LabID: 8, FullName: "Rahul Sharma", Contact: "9876543210", DateOfBirth: "1990-02-11"},
	)
	type hit struct {
		ID  int64
		Why []search.Field
	}
	for text, want := range map[string][]hit{
		"Rahul Sharma 11/02/1990": {{1, []search.Field{search.FullName, search.DateOfBirth}}, {2, []search.Field{search.FullName, search.DateOfBirth}}},
		"Rahul Sharma 1990-02-11 9876543210": {{1, []search.Field{search.FullName, search.Contact, search.DateOfBirth}}, {5, []search.Field{search.FullName, search.AlternateContact}},
			{2, []search.Field{search.FullName, search.DateOfBirth}}},
		"rahul sarma +919000000001": {{2, []search.Field{search.FullName, search.Contact}}},
		"Anil Kumar 1990-02-11":     nil,
	} {
		var got []hit
		for _, h := range i.search(7, text, search.Duplicate, search.Full).Hits {
			got = append(got, hit{h.UserID, h.Matched})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
