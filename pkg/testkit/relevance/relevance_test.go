package relevance_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
)

func TestASeedMakesTheSameCorpusAndTheSameTexts(t *testing.T) {
	t.Parallel()
	one, again := relevance.Patients(3, 200, 7, 8), relevance.Patients(3, 200, 7, 8)
	if diff := cmp.Diff(one, again, cmpopts.IgnoreUnexported(relevance.Patient{})); diff != "" {
		t.Error(diff)
	}
	texts := relevance.Judgements(5, 10, one)
	if diff := cmp.Diff(texts, relevance.Judgements(5, 10, again)); diff != "" {
		t.Error(diff)
	}
	if other := relevance.Judgements(6, 10, one); cmp.Equal(texts, other) {
		t.Error("another seed makes the same texts")
	}
}

func TestATextMeansAPatientOfItsLaboratory(t *testing.T) {
	t.Parallel()
	labs := map[int64]int64{}
	for _, p := range relevance.Patients(3, 300, 7, 8) {
		if labs[p.UserID] != 0 {
			t.Fatalf("two patients %d", p.UserID)
		}
		labs[p.UserID] = p.LabID
	}
	kinds := map[string]int{}
	for _, j := range relevance.Judgements(5, 10, relevance.Patients(3, 300, 7, 8)) {
		kinds[j.Kind]++
		if j.Text == "" || labs[j.Want] != j.LabID {
			t.Errorf("%+v is for laboratory %d", j, labs[j.Want])
		}
	}
	for kind, n := range kinds {
		if n != 20 {
			t.Errorf("%d texts of kind %s", n, kind)
		}
	}
	if len(kinds) != 23 {
		t.Errorf("%d kinds", len(kinds))
	}
}

func TestFiguresCountPlacesAndStrangers(t *testing.T) {
	t.Parallel()
	judgements := []relevance.Judgement{{Kind: "a", LabID: 7, Want: 1}, {Kind: "a", LabID: 7, Want: 2}, {Kind: "b", LabID: 8, Want: 9}}
	answers := map[int64][]relevance.Hit{1: {{UserID: 1, LabID: 7}}, 2: {{UserID: 1, LabID: 7}, {UserID: 2, LabID: 7}}, 9: {{UserID: 5, LabID: 7}}}
	got, err := relevance.Measure(judgements, func(j relevance.Judgement) ([]relevance.Hit, error) { return answers[j.Want], nil })
	want := []relevance.Figures{{Kind: "a", Texts: 2, MRR: 0.75, Recall: 1}, {Kind: "b", Texts: 1, Alien: 1}, {Kind: "all", Texts: 3, MRR: 0.5, Recall: 2.0 / 3, Alien: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s, error %v", diff, err)
	}
	broken := errors.New("down")
	if _, err := relevance.Measure(judgements, func(relevance.Judgement) ([]relevance.Hit, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestTheSetWrittenByHandIsLargeAndComplete(t *testing.T) {
	t.Parallel()
	patients, texts := relevance.ByHand(7, 8)
	if len(patients) < 2*260 || len(texts) < 250 {
		t.Errorf("%d patients of two laboratories, %d texts", len(patients), len(texts))
	}
	labs := map[int64]int64{}
	for _, p := range patients {
		if labs[p.UserID] != 0 || p.Gender == "" || p.Contact == "" {
			t.Errorf("patient %d stands there twice or lacks something", p.UserID)
		}
		labs[p.UserID] = p.LabID
	}
	for _, j := range texts {
		if j.Kind == "" || j.Text == "" || j.LabID != 7 || labs[j.Want] != 7 {
			t.Errorf("%+v", j)
		}
	}
}
