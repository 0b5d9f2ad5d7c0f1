package search

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/services/search/inprocess"
)

func TestEveryKindOfTextHasItsShareOfTheMix(t *testing.T) {
	t.Parallel()
	c := newCorpus(sizes{patients: 1000, laboratories: 2, texts: 5})
	m, err := newMix(c.texts)
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string]int{}
	const n = 100_000
	for _, j := range m.draw(1, n) {
		drawn[j.Kind]++
	}
	for kind, share := range shares {
		if got := drawn[kind] * 100 / n; got < share-1 || got > share+1 {
			t.Errorf("%s: %d of 100, want %d", kind, got, share)
		}
	}
	if !slices.Equal(m.draw(7, 100), m.draw(7, 100)) || slices.Equal(m.draw(7, 100), m.draw(8, 100)) {
		t.Error("the seed does not decide")
	}
}

func TestOurAnswersAreJudged(t *testing.T) {
	t.Parallel()
	right, other, alien := inprocess.Hit{UserID: 7, LabID: 1}, inprocess.Hit{UserID: 8, LabID: 1}, inprocess.Hit{UserID: 7, LabID: 2}
	for name, c := range map[string]struct {
		kind   string
		hits   []inprocess.Hit
		strict bool
		ok     bool
		missed int64
	}{
		"the one who is meant":             {"email", []inprocess.Hit{other, right}, true, true, 0},
		"someone else":                     {"email", []inprocess.Hit{other}, true, false, 0},
		"someone else of a sound":          {"sound", []inprocess.Hit{other}, true, true, 1},
		"someone else by the peer":         {"email", []inprocess.Hit{other}, false, true, 1},
		"someone where no one is meant":    {foreign, []inprocess.Hit{other}, true, false, 0},
		"no one where no one is meant":     {foreign, nil, true, true, 0},
		"a patient of another laboratory":  {"email", []inprocess.Hit{right, alien}, true, false, 0},
		"a foreign patient, by the peer":   {"email", []inprocess.Hit{right, alien}, false, false, 0},
		"a foreign patient where none is":  {foreign, []inprocess.Hit{alien}, true, false, 0},
		"someone for a mistyped telephone": {"typing error and digits", nil, true, true, 1},
	} {
		s := &side{name: name, strict: c.strict, find: func(context.Context, int64, string) ([]inprocess.Hit, error) { return c.hits, nil }}
		answered, err := s.ask(t.Context(), relevance.Judgement{Kind: c.kind, LabID: 1, Want: 7})
		if !answered || (err == nil) != c.ok || s.missed.Load() != c.missed {
			t.Errorf("%s: answered %v, missed %d, error %v", name, answered, s.missed.Load(), err)
		}
	}
	late := &side{find: func(context.Context, int64, string) ([]inprocess.Hit, error) { return nil, context.DeadlineExceeded }}
	if answered, err := late.ask(t.Context(), relevance.Judgement{}); answered || err != nil || late.late.Load() != 1 {
		t.Errorf("a search that was given up: answered %v, error %v", answered, err)
	}
}

func TestAStallCountsForEverySearchBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := make(chan bool, 1) // not a mutex, which would stop virtual time
		taken, err := atRate(t.Context(), make([]relevance.Judgement, 3), 100, func(context.Context, relevance.Judgement) (bool, error) {
			one <- true
			defer func() { <-one }()
			time.Sleep(100 * time.Millisecond)
			return true, nil
		})
		if err != nil || !slices.Equal(taken, []time.Duration{100 * time.Millisecond, 190 * time.Millisecond, 280 * time.Millisecond}) {
			t.Errorf("taken %v, error %v", taken, err)
		}
	})
}

func TestCallersAskAgainWhenTheyAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done, err := closed(t.Context(), make([]relevance.Judgement, 5), time.Second, func(context.Context, relevance.Judgement) (bool, error) {
			time.Sleep(99 * time.Millisecond)
			return true, nil
		})
		if err != nil || done != 10*callers {
			t.Errorf("%d answers, error %v", done, err)
		}
	})
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var taken []time.Duration
	for n := range 100 {
		taken = append(taken, time.Duration(100-n)*time.Millisecond)
	}
	if p50, p99 := quantile(taken, 50), quantile(taken, 99); p50 != 51 || p99 != 100 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}
