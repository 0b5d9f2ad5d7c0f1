package elastic_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// A number of an identity card or a tube may begin like a country code: a telephone that is like its rest is no one's
// number.
func TestWhoHasTheNumberStandsAboveATelephoneLikeItsRest(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 101, LabID: 7, FullName: "Phone Owner", Contact: "0112345678"},
		indextest.Row{UserID: 102, LabID: 7, FullName: "Card Owner", NationalIdentityNumber: "234112345678"},
		indextest.Row{UserID: 103, LabID: 7, FullName: "Landline Owner", Contact: "223344556"},
		indextest.Row{UserID: 104, LabID: 7, FullName: "Sample Owner", SampleIDs: []string{"965223344556"}},
	)
	for text, want := range map[string]string{"234112345678": "Card Owner", "965223344556": "Sample Owner"} {
		result := i.search(7, text, search.All, search.Full)
		for n, hit := range result.Hits {
			if n == 0 && hit.FullName != want || n > 0 && hit.Match == search.Exact {
				t.Errorf("%s: hit %d is %s by %s, want %s alone exact", text, n+1, hit.FullName, hit.Match, want)
			}
		}
	}
}
