package materialize

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Members returns the patients of a laboratory.
type Members interface {
	// Members returns the ids in userIDs that are or were patients of the laboratory.
	Members(ctx context.Context, scope authn.LabScope, userIDs []int64) ([]int64, error)
}

// Forced recomputes patients on request. It writes their rows even if they are unchanged, so that a wrong index is
// corrected.
type Forced struct {
	Users   Users
	Members Members
}

// RecomputeIn recomputes the patients in userIDs that belong or belonged to the laboratory, and returns their number.
func (f Forced) RecomputeIn(ctx context.Context, scope authn.LabScope, userIDs []int64) (int, error) {
	members, err := f.Members.Members(ctx, scope, userIDs)
	if err != nil || len(members) == 0 {
		return 0, err
	}
	refused, err := f.RecomputeForced(ctx, members)
	if err != nil {
		return 0, err
	}
	return len(members), f.first(refused)
}

// RecomputeForced recomputes patients of any laboratory. It returns the patients whose row the database rejects, with
// the errors, which are not reported elsewhere.
func (f Forced) RecomputeForced(ctx context.Context, userIDs []int64) (refused map[int64]error, err error) {
	targets := make([]Target, len(userIDs))
	for i, id := range userIDs {
		targets[i] = Target{UserID: id, Force: true}
	}
	summary, err := f.Users.Recompute(ctx, targets)
	if err != nil {
		return nil, outcome.FaultOf(err)
	}
	refused = make(map[int64]error, len(summary.Poison))
	for id, poison := range summary.Poison {
		refused[id] = poison
	}
	return refused, nil
}

// first returns an error for one of the rejected rows, with the number of the others; nil if there are none.
func (f Forced) first(refused map[int64]error) error {
	for id, poison := range refused {
		return fmt.Errorf("patient %d and %d others refused: %w", id, len(refused)-1, poison)
	}
	return nil
}
