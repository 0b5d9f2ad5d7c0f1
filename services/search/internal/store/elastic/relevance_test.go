package elastic_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/relevance"
)

func corpus(n int) ([]relevance.Patient, rows) {
	patients := relevance.Patients(1, n, 7, 8)
	var all rows
	for _, p := range patients {
		all = append(all, indextest.Row{UserID: p.UserID, LabID: p.LabID, FullName: p.Name(), Contact: p.Contact, AlternateContact: p.AlternateContact, Email: p.Email,
			LabPatientID: p.LabPatientID, NationalIdentityNumber: p.NationalID, OrderNumbers: p.OrderNumbers, BillIDs: p.BillIDs, LabReportIDs: p.LabReportIDs,
			SampleIDs: p.SampleIDs, LastBillTime: &p.LastBillTime})
	}
	return patients, all
}

func TestTheOneWhoIsMeantStandsFirst(t *testing.T) {
	t.Parallel()
	i := open(t)
	patients, all := corpus(3000)
	i.Put(all...)
	judgements := relevance.Judgements(1, 60, patients)
	figures, err := relevance.Measure(judgements, func(j relevance.Judgement) ([]relevance.Hit, error) {
		q := query(t, j.Text, search.All)
		q.Size = relevance.Depth
		r, err := i.store.Search(t.Context(), lab(t, j.LabID), q, search.Full)
		var hits []relevance.Hit
		for _, h := range r.Hits {
			hits = append(hits, relevance.Hit{UserID: h.UserID, LabID: h.LabID})
		}
		if len(hits) == 0 || hits[0].UserID != j.Want {
			for n, h := range r.Hits {
				if n < 4 {
					t.Logf("%s %q: want %d: %d %q %g %v", j.Kind, j.Text, j.Want, h.UserID, h.FullName, h.Score, h.Matched)
				}
			}
		}
		return hits, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + relevance.Table(figures))
	total := figures[len(figures)-1]
	if total.MRR < 0.95 || total.Recall < 0.99 || total.Alien != 0 {
		t.Errorf("figures %+v", total)
	}
}
