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
			SampleIDs: p.SampleIDs, LastBillTime: ptr(p.LastBillTime)})
	}
	return patients, all
}

func (i *index) measure(judgements []relevance.Judgement, answer func(relevance.Judgement) ([]relevance.Hit, error)) relevance.Figures {
	i.t.Helper()
	figures, err := relevance.Measure(judgements, answer)
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Log("\n" + relevance.Table(figures))
	return figures[len(figures)-1]
}

func TestTheOneWhoIsMeantStandsFirst(t *testing.T) {
	t.Parallel()
	i := open(t)
	patients, all := corpus(2000)
	i.Put(all...)
	judgements := relevance.Judgements(1, 20, patients)
	ours := i.measure(judgements, func(j relevance.Judgement) ([]relevance.Hit, error) {
		q := query(t, j.Text, search.All)
		q.Size = relevance.Depth
		r, err := i.store.Search(t.Context(), lab(t, j.LabID), q, search.Full)
		var hits []relevance.Hit
		for _, h := range r.Hits {
			hits = append(hits, relevance.Hit{UserID: h.UserID, LabID: h.LabID})
		}
		return hits, err
	})
	if ours.MRR < 0.95 || ours.Recall < 0.99 || ours.Alien != 0 {
		t.Errorf("figures %+v", ours)
	}
	var some []relevance.Judgement // one fuzzy query over all fields is slow
	for n := 0; n < len(judgements); n += 5 {
		some = append(some, judgements[n])
	}
	naive := i.measure(some, func(j relevance.Judgement) ([]relevance.Hit, error) { return i.multiMatch(j.LabID, j.Text) })
	if naive.MRR >= ours.MRR {
		t.Errorf("one query over all fields has the MRR %v, ours %v", naive.MRR, ours.MRR)
	}
}
