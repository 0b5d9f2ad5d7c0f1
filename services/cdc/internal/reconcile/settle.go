package reconcile

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Result is the result of comparing one laboratory.
type Result struct {
	LabID int64
	Count
	Differences []Difference // persistent differences, by patient
	Unsettled   int          // patients that differed in every read and are therefore not classified
}

// Compare compares a laboratory, and reads possible differences again until they disappear or are found unchanged
// twice. progress is called after every page. The error is a fault.
func (r *Reconciler) Compare(ctx context.Context, scope authn.LabScope, progress func(Count)) (Result, error) {
	result := Result{LabID: scope.LabID()}
	suspects, count, err := r.Suspects(ctx, scope, progress)
	result.Count = count
	if err != nil {
		return result, err
	}
	return result, r.settle(ctx, &result, suspects)
}

// settle divides suspects into persistent differences and changes that were still in the pipeline.
func (r *Reconciler) settle(ctx context.Context, result *Result, suspects map[int64][]Difference) error {
	for look := 0; len(suspects) > 0 && look < r.d.Config.Looks; look++ {
		if err := lifecycle.Pause(ctx, r.d.Config.Settle); err != nil {
			return err
		}
		now, err := r.again(ctx, result.LabID, suspects)
		if err != nil {
			return err
		}
		for id, differences := range now {
			if slices.Equal(differences, suspects[id]) {
				result.Differences = append(result.Differences, differences...)
				delete(now, id)
			}
		}
		suspects = now
	}
	result.Unsettled = len(suspects)
	slices.SortStableFunc(result.Differences, func(a, b Difference) int { return cmp.Compare(a.UserID, b.UserID) })
	return nil
}

// Still reads persistent differences again after a repair and returns the remaining ones.
func (r *Reconciler) Still(ctx context.Context, lab int64, differences []Difference) ([]Difference, error) {
	suspects := map[int64][]Difference{}
	suspect(suspects, differences)
	now, err := r.again(ctx, lab, suspects)
	if err != nil {
		return nil, err
	}
	var still []Difference
	for _, id := range slices.Sorted(maps.Keys(now)) {
		still = append(still, now[id]...)
	}
	return still, nil
}
