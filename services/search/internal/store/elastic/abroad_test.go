package elastic_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// TestWhoHasTheNumberStandsAboveATelephoneLikeItsRest: the number of an identity card or a tube may begin like a
// country code. A patient with that number must rank above one whose telephone number equals the rest of the digits.
func TestWhoHasTheNumberStandsAboveATelephoneLikeItsRest(t *testing.T) {
	t.Parallel()
	i := open(t, func(c *elastic.Config) { c.RecencyEnabled = true })
	i.Put(
		indextest.Row{UserID: 101, LabID: 7, FullName: "Phone Owner", Contact: "0112345678"},
		indextest.Row{UserID: 102, LabID: 7, FullName: "Card Owner", NationalIdentityNumber: "234112345678"},
		indextest.Row{UserID: 103, LabID: 7, FullName: "Landline Owner", Contact: "223344556"},
		indextest.Row{UserID: 104, LabID: 7, FullName: "Sample Owner", SampleIDs: []string{"965223344556"}},
		indextest.Row{UserID: 105, LabID: 7, FullName: "Called Owner", Contact: "00990815777", LastBillTime: ptr(now.UnixMilli())},
		indextest.Row{UserID: 106, LabID: 7, FullName: "Number Owner", LabPatientID: "0990815777"},
		indextest.Row{UserID: 107, LabID: 7, FullName: "Last Owner", Contact: "1412341234"},
		indextest.Row{UserID: 108, LabID: 7, FullName: "Tube Owner", SampleIDs: []string{"341412341234-1"}},
		indextest.Row{UserID: 109, LabID: 7, FullName: "Abroad Owner", Contact: "0990815778"},
	)
	for text, want := range map[string]string{"234112345678": "Card Owner", "965223344556": "Sample Owner", "0990815777": "Number Owner",
		"341412341234": "Tube Owner", "+84990815778": "Abroad Owner"} {
		result := i.search(7, text, search.All, search.Full)
		if len(result.Hits) == 0 {
			t.Errorf("%s finds no one", text)
		}
		for n, hit := range result.Hits {
			own := hit.Contact == "0"+text // the same telephone number with 0 in place of the country code
			if n == 0 && hit.FullName != want || n > 0 && hit.Match == search.Exact && !own {
				t.Errorf("%s: hit %d is %s by %s, want %s alone exact", text, n+1, hit.FullName, hit.Match, want)
			}
		}
	}
}

// TestAnIdentifierThatLooksMaskedIsFoundAlone: letters before digits may mask a telephone number. If a patient has the
// text as an identifier, only that patient must be found.
func TestAnIdentifierThatLooksMaskedIsFoundAlone(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(indextest.Row{UserID: 101, LabID: 7, FullName: "Phone Owner", Contact: "9876544411"},
		indextest.Row{UserID: 102, LabID: 7, FullName: "Sample Owner", SampleIDs: []string{"XX4411"}},
		indextest.Row{UserID: 103, LabID: 7, FullName: "Other Owner", Contact: "9876545807"})
	for text, want := range map[string]int64{"xx4411": 102, "XX4411": 102, "xx5807": 103, "ending 4411": 101} {
		if got := ids(i.search(7, text, search.All, search.Full)); len(got) != 1 || got[0] != want {
			t.Errorf("%s finds %v, want %d alone", text, got, want)
		}
	}
	i.Put(indextest.Row{UserID: 104, LabID: 7, FullName: "Longer Owner", SampleIDs: []string{"XX44110"}})
	q := query(t, "xx4411", search.All)
	q.Size = 1
	for page, want := range [][]int64{{102}, {104}, nil} {
		q.From = page
		if r, err := i.store.Search(t.Context(), lab(t, 7), q, search.Full); err != nil || r.Total != 2 || !slices.Equal(ids(r), want) {
			t.Errorf("page %d is %v of %d, error %v, want %v of 2", page+1, ids(r), r.Total, err, want)
		}
	}
}

// TestAHitWithoutTheNumberBesideTheNameIsTolerant checks that a number after a name is compared too, and that a hit
// without the number is not graded exact.
func TestAHitWithoutTheNumberBesideTheNameIsTolerant(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(indextest.Row{UserID: 101, LabID: 7, FullName: "Baby2 Sita"}, indextest.Row{UserID: 102, LabID: 7, FullName: "Sita Rao", LabPatientID: "2-17"},
		indextest.Row{UserID: 103, LabID: 7, FullName: "Gita Rao", Age: "45 Y"})
	for text, want := range map[string][]string{"Sita 2": {"part", "tolerant"}, "Gita 45": {"exact"}, "Mrs Gita 45": {"exact"}, "Gita 46": {"tolerant"}} {
		var got []string
		for _, hit := range i.search(7, text, search.All, search.Full).Hits {
			got = append(got, hit.Match.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
}
