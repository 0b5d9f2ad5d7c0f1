package reconcile

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Result is what the comparison of one laboratory found.
type Result struct {
	LabID int64
	Count
	Differences []Difference // that stay, by patient
	Unsettled   int          // patients that changed at every look: neither right nor wrong yet
}

// Compare goes through a laboratory and reads what seems wrong until it disappears or is the same twice. progress hears
// of every page and may do nothing. The error is a fault.
func (r *Reconciler) Compare(ctx context.Context, scope authn.LabScope, progress func(Count)) (Result, error) {
	result := Result{LabID: scope.LabID()}
	suspects, count, err := r.Suspects(ctx, scope, progress)
	result.Count = count
	if err != nil {
		return result, err
	}
	return result, r.settle(ctx, &result, suspects)
}

// settle sorts suspects into differences and what was only on its way.
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

// Still reads differences that stayed again and returns the remaining ones, for anyone who waits for a repair.
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
