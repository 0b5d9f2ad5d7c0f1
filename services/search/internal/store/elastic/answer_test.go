package elastic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// TestNoHitShowsAnythingOfAnother checks that each hit contains only the data of its own card, although decoding reuses
// memory.
func TestNoHitShowsAnythingOfAnother(t *testing.T) {
	t.Parallel()
	whole := `{"user_id":1,"lab_id":7,"lab_patient_id":"P1","full_name":"Rahul Sharma","contact":"919876543210","alternate_contact":"919876543211","email":"r@x.in",` +
		`"gender":"Male","date_of_birth":"1990-02-11","age":"36 Y","passport_no":"A1","national_identity_number":"N1","branch_id":3,"org_id":4,"cc_id":5,` +
		`"order_numbers":["O1","O2"],"bill_ids":[11,12],"lab_bill_ids":[13],"lab_report_ids":[14],"sample_ids":["S1","S2"],"manual_sample_ids":["M1"],"lrf_ids":["L1"],` +
		`"last_bill_time":1700000000000,"updated_at":1700000000001}`
	other := `{"user_id":2,"lab_id":7,"full_name":"Rahul","branch_id":8,"order_numbers":["O9"],"sample_ids":null,"bill_ids":[21]}`
	cards := []string{whole, `{"user_id":3,"lab_id":7}`, other, whole, other}
	var hits []string
	for n, card := range cards {
		hits = append(hits, hit(card, 5, int64(n)))
	}
	all := answers(200, `{"hits":{"total":{"value":5,"relation":"eq"},"hits":[`+strings.Join(hits, ",")+`]}}`)
	together, err := scripted(t, all).Search(t.Context(), lab(t, 7), query(t, "rahul", "name"), search.Least)
	if err != nil || len(together.Hits) != len(cards) {
		t.Fatalf("%d hits, error %v", len(together.Hits), err)
	}
	for n, card := range cards {
		one := answers(200, `{"hits":{"total":{"value":1,"relation":"eq"},"hits":[`+hit(card, 5, int64(n))+`]}}`)
		alone, err := scripted(t, one).Search(t.Context(), lab(t, 7), query(t, "rahul", "name"), search.Least)
		if err != nil || len(alone.Hits) != 1 {
			t.Fatalf("%d hits, error %v", len(alone.Hits), err)
		}
		if diff := cmp.Diff(alone.Hits[0].Person, together.Hits[n].Person, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("hit %d (-alone, +among others): %s", n, diff)
		}
	}
	first := together.Hits[0].Person
	if first.OrderNumbers[0] != "O1" || *first.BranchID != 3 || first.LastBillTime == nil || len(together.Hits[1].OrderNumbers) != 0 {
		t.Errorf("the first hit is %+v, the second %+v", first, together.Hits[1].Person)
	}
}
