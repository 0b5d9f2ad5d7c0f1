package relevance_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
)

func TestSeedDeterminesCorpusAndTexts(t *testing.T) {
	t.Parallel()
	first, second := relevance.Patients(3, 200, 7, 8), relevance.Patients(3, 200, 7, 8)
	if diff := cmp.Diff(first, second, cmpopts.IgnoreUnexported(relevance.Patient{})); diff != "" {
		t.Errorf("patients of the same seed differ:\n%s", diff)
	}
	texts := relevance.Judgements(5, 10, first)
	if diff := cmp.Diff(texts, relevance.Judgements(5, 10, second)); diff != "" {
		t.Errorf("texts of the same seed differ:\n%s", diff)
	}
	if other := relevance.Judgements(6, 10, first); cmp.Equal(texts, other) {
		t.Error("texts of another seed are the same, want others")
	}
}

func TestExpectedPatientIsOfTheTextsLaboratory(t *testing.T) {
	t.Parallel()
	labs := map[int64]int64{}
	for _, p := range relevance.Patients(3, 300, 7, 8) {
		if labs[p.UserID] != 0 {
			t.Fatalf("user id %d is used twice", p.UserID)
		}
		labs[p.UserID] = p.LabID
	}
	kinds := map[string]int{}
	for _, j := range relevance.Judgements(5, 10, relevance.Patients(3, 300, 7, 8)) {
		kinds[j.Kind]++
		if j.Text == "" || labs[j.Want] != j.LabID {
			t.Errorf("%+v: laboratory of the expected patient = %d", j, labs[j.Want])
		}
	}
	for kind, n := range kinds {
		if n != 20 {
			t.Errorf("texts of kind %[2]s = %[1]d, want 20", n, kind)
		}
	}
	if len(kinds) != 23 {
		t.Errorf("kinds = %d, want 23", len(kinds))
	}
}

func TestFiguresCountRanksAndHitsOfOtherLaboratories(t *testing.T) {
	t.Parallel()
	judgements := []relevance.Judgement{{Kind: "a", LabID: 7, Want: 1}, {Kind: "a", LabID: 7, Want: 2}, {Kind: "b", LabID: 8, Want: 9}}
	answers := map[int64][]relevance.Hit{1: {{UserID: 1, LabID: 7}}, 2: {{UserID: 1, LabID: 7}, {UserID: 2, LabID: 7}}, 9: {{UserID: 5, LabID: 7}}}
	got, err := relevance.Measure(judgements, func(j relevance.Judgement) ([]relevance.Hit, error) { return answers[j.Want], nil })
	want := []relevance.Figures{{Kind: "a", Texts: 2, MRR: 0.75, Recall: 1}, {Kind: "b", Texts: 1, Alien: 1}, {Kind: "all", Texts: 3, MRR: 0.5, Recall: 2.0 / 3, Alien: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("figures (-want +got):\n%s, error %v", diff, err)
	}
	broken := errors.New("down")
	if _, err := relevance.Measure(judgements, func(relevance.Judgement) ([]relevance.Hit, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("Measure = %v, want the search's error", err)
	}
}

func TestHandwrittenSetIsLargeAndComplete(t *testing.T) {
	t.Parallel()
	patients, texts := relevance.Handwritten(7, 8)
	if len(patients) < 2*260 || len(texts) < 250 {
		t.Errorf("patients = %d, texts = %d, want at least 520 and 250", len(patients), len(texts))
	}
	labs := map[int64]int64{}
	for _, p := range patients {
		if labs[p.UserID] != 0 || p.Gender == "" || p.Contact == "" {
			t.Errorf("patient %d occurs twice or lacks gender or contact", p.UserID)
		}
		labs[p.UserID] = p.LabID
	}
	for _, j := range texts {
		if j.Kind == "" || j.Text == "" || j.LabID != 7 || labs[j.Want] != 7 {
			t.Errorf("text = %+v, want a kind, a text and a patient of laboratory 7", j)
		}
	}
}
