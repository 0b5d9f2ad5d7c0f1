package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/search/inprocess"
	"github.com/labplatform/labplatform/services/search/relevance"
)

// judge says what is wrong with an answer.
type judge func(relevance.Judgement, []inprocess.Hit) error

// judging makes a search and judges the answer. One that was given up for taking too long is slow, not wrong: it is counted.
func (v *verdict) judging(find finder, judge judge) asked {
	return func(ctx context.Context, j relevance.Judgement) (bool, error) {
		hits, err := find(ctx, j.LabID, j.Text)
		if tooLate(err) {
			v.late.Add(1)
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("search by %s: %w", j.Kind, err)
		}
		return true, judge(j, hits)
	}
}

func tooLate(err error) bool {
	return apperr.Is(err, apperr.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTimeout)
}

// verdict counts what our answers were worth, and searches of both sides that were given up.
type verdict struct{ judged, missed, late atomic.Int64 }

// uncertain are the kinds of texts that another patient may answer to as closely. All others must find the one who is meant on the
// first page, or it is no search.
var uncertain = []string{"typing error", "sound"}

// ours requires the patient who is meant, nobody of another laboratory, and nobody at all where nobody is meant.
func (v *verdict) ours(j relevance.Judgement, hits []inprocess.Hit) error {
	if err := v.peer(j, hits); err != nil {
		return err
	}
	v.judged.Add(1)
	if j.Kind == foreign {
		if len(hits) > 0 {
			return fmt.Errorf("a text %s finds %d patients", j.Kind, len(hits))
		}
		return nil
	}
	if slices.ContainsFunc(hits, func(h inprocess.Hit) bool { return h.UserID == j.Want }) {
		return nil
	}
	v.missed.Add(1)
	if !slices.Contains(uncertain, j.Kind) {
		return fmt.Errorf("%q, a %s, does not find patient %d of laboratory %d", j.Text, j.Kind, j.Want, j.LabID)
	}
	return nil
}

// peer requires that nobody is of another laboratory: it promises no more.
func (v *verdict) peer(j relevance.Judgement, hits []inprocess.Hit) error {
	for _, h := range hits {
		if h.LabID != j.LabID {
			return fmt.Errorf("a %s in laboratory %d finds patient %d of laboratory %d", j.Kind, j.LabID, h.UserID, h.LabID)
		}
	}
	return nil
}
