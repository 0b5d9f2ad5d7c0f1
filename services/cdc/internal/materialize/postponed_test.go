package materialize_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

// virtual is a clock with the test's virtual time.
type virtual struct{}

func (virtual) Now() time.Time { return time.Now() }

type recording struct {
	begin time.Time
	at    map[int64][]time.Duration
	err   error
}

func (r *recording) Recompute(_ context.Context, targets []materialize.Target) (materialize.Summary, error) {
	for _, t := range targets {
		r.at[t.UserID] = append(r.at[t.UserID], time.Since(r.begin).Round(time.Second))
	}
	return materialize.Summary{}, r.err
}

func TestAPostponedPatientIsComputedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, r := materialize.NewPostponed(virtual{}), &recording{begin: time.Now(), at: map[int64][]time.Duration{}}
		p.Add([]int64{7})
		for second := range 80 {
			if second == 10 {
				p.Add([]int64{7, 8})
			}
			r.err = nil
			if second == 11 {
				r.err = errors.New("database away")
			}
			if err := p.RunOnce(t.Context(), r); !errors.Is(err, r.err) {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // virtual time
		}
		s := time.Second
		again := []time.Duration{11 * s, 12 * s, 14 * s, 18 * s, 26 * s, 42 * s, 74 * s} // 12 s: repeated after the fault
		if want := append([]time.Duration{1 * s, 3 * s, 7 * s}, again...); !slices.Equal(r.at[7], want) {
			t.Errorf("7 at %v", r.at[7])
		}
		if !slices.Equal(r.at[8], again) || p.Waiting() != 0 {
			t.Errorf("8 at %v, %d waiting", r.at[8], p.Waiting())
		}
	})
}

// TestAProcessThatEndsComputesWhoeverWaits checks that a process recomputes all waiting patients before it ends. After
// a rolling update they would otherwise wait for the next round of the reconciliation.
func TestAProcessThatEndsComputesWhoeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, r := materialize.NewPostponed(virtual{}), &recording{begin: time.Now(), at: map[int64][]time.Duration{}}
		p.Add([]int64{7, 8})
		if err := p.RunOnce(t.Context(), r); err != nil || len(r.at) != 0 {
			t.Fatalf("computed %v, error %v", r.at, err)
		}
		if err := p.Finish(t.Context(), r); err != nil || len(r.at[7]) != 1 || len(r.at[8]) != 1 {
			t.Errorf("computed %v, error %v", r.at, err)
		}
	})
}

func TestTheListOfThePostponedIsBounded(t *testing.T) {
	t.Parallel()
	p := materialize.NewPostponed(virtual{})
	for id := range int64(100_010) {
		p.Add([]int64{id})
	}
	p.Add([]int64{1, 2, 3})
	if p.Waiting() != 100_000 {
		t.Fatalf("%d wait", p.Waiting())
	}
}
