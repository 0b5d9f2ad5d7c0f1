package elastic_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func corpus(n int) ([]relevance.Patient, rows) {
	patients := relevance.Patients(1, n, 7, 8)
	return patients, rowsOf(patients)
}

func rowsOf(patients []relevance.Patient) (all rows) {
	for _, p := range patients {
		all = append(all, indextest.Row{UserID: p.UserID, LabID: p.LabID, FullName: p.Name(), Contact: p.Contact, AlternateContact: p.AlternateContact, Email: p.Email,
			LabPatientID: p.LabPatientID, NationalIdentityNumber: p.NationalID, OrderNumbers: p.OrderNumbers, BillIDs: p.BillIDs, LabReportIDs: p.LabReportIDs,
			SampleIDs: p.SampleIDs, LastBillTime: ptr(p.LastBillTime),
			Gender: p.Gender, Age: p.Age, DateOfBirth: p.DateOfBirth})
	}
	return all
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
	ours := i.measure(judgements, i.first)
	if ours.MRR < 0.95 || ours.Recall < 0.99 || ours.Alien != 0 {
		t.Errorf("figures %+v", ours)
	}
	var some []relevance.Judgement // only a sample, because a fuzzy query over all fields is slow
	for n := 0; n < len(judgements); n += 5 {
		some = append(some, judgements[n])
	}
	naive := i.measure(some, func(j relevance.Judgement) ([]relevance.Hit, error) { return i.multiMatch(j.LabID, j.Text) })
	if naive.MRR >= ours.MRR {
		t.Errorf("one query over all fields has the MRR %v, ours %v", naive.MRR, ours.MRR)
	}
}

// first returns the first page of hits for the text of a judgement.
func (i *index) first(j relevance.Judgement) ([]relevance.Hit, error) {
	q := query(i.t, j.Text, search.All)
	q.Size = relevance.Depth
	r, err := i.store.Search(i.t.Context(), lab(i.t, j.LabID), q, search.Full)
	var hits []relevance.Hit
	for _, h := range r.Hits {
		hits = append(hits, relevance.Hit{UserID: h.UserID, LabID: h.LabID})
	}
	if len(hits) == 0 || hits[0].UserID != j.Want {
		i.t.Logf("%q does not find first who is meant, but %d others", j.Text, len(hits))
	}
	return hits, err
}

// The thresholds are minimums. Raise them when the search improves.
func TestTheOneWhomPeopleMeanStandsFirst(t *testing.T) {
	t.Parallel()
	i := open(t)
	patients, judgements := relevance.Handwritten(7, 8)
	i.Put(rowsOf(patients)...)
	latin := slices.DeleteFunc(slices.Clone(judgements), func(j relevance.Judgement) bool { return j.Kind == relevance.Script })
	scripts := slices.DeleteFunc(slices.Clone(judgements), func(j relevance.Judgement) bool { return j.Kind != relevance.Script })
	if all := i.measure(latin, i.first); all.MRR < 0.97 || all.Recall < 0.98 || all.Alien != 0 {
		t.Errorf("figures %+v", all)
	}
	if all := i.measure(scripts, i.first); all.Recall < 0.8 || all.Alien != 0 {
		t.Errorf("figures of other scripts %+v", all)
	}
}

// TestTextsThatNobodyAnswersToFindNobody checks that texts which no patient has do not find other patients: at most one
// of twenty may have hits.
func TestTextsThatNobodyAnswersToFindNobody(t *testing.T) {
	t.Parallel()
	i := open(t)
	patients, _ := relevance.Handwritten(7, 8)
	i.Put(rowsOf(patients)...)
	texts := relevance.NoMatches()
	noise := 0
	for _, text := range texts {
		if r := i.search(7, text, search.All, search.Full); r.Total > 0 {
			t.Logf("%q finds %q and %d more", text, r.Hits[0].FullName, r.Total-1)
			noise++
		}
	}
	t.Logf("%d of %d texts that no one has find someone", noise, len(texts))
	if 20*noise > len(texts) {
		t.Errorf("%d of %d texts find someone", noise, len(texts))
	}
}

// TestTheOneWhomPublicListsNameStandsFirst searches names and numbers from public lists in their usual scripts and
// forms. The thresholds are minimums.
func TestTheOneWhomPublicListsNameStandsFirst(t *testing.T) {
	t.Parallel()
	i := open(t)
	patients, judgements := relevance.Public(7, 8)
	i.Put(rowsOf(patients)...)
	if all := i.measure(judgements, i.first); all.MRR < 0.97 || all.Recall < 0.98 || all.Alien != 0 {
		t.Errorf("figures %+v", all)
	}
	begun, guessed := 0, 0
	texts := relevance.UnknownLastNames()
	for _, text := range texts {
		r := i.search(7, text, search.All, search.Full)
		switch {
		case r.Total == 0:
			continue
		case r.Hits[0].Match < search.Sound: // the text is a prefix of a longer name
			begun++
		default:
			guessed++
		}
		t.Logf("%q finds %q by %s and %d more", text, r.Hits[0].FullName, r.Hits[0].Match, r.Total-1)
	}
	t.Logf("of %d last names that no one has, %d find a longer name and %d a guess", len(texts), begun, guessed)
	if 10*guessed > len(texts) {
		t.Errorf("%d of %d last names that no one has find a guess", guessed, len(texts))
	}
}
