package materialize

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Members tells who belongs to a laboratory.
type Members interface {
	// Members returns those of userIDs who are or were patients of the laboratory.
	Members(ctx context.Context, scope authn.LabScope, userIDs []int64) ([]int64, error)
}

// Forced computes patients whom somebody names, and writes their rows also when they are equal: the index follows
// even when only it was wrong.
type Forced struct {
	Users   Users
	Members Members
}

// RecomputeIn computes those of userIDs who are or were patients of the laboratory, and returns how many they are.
func (f Forced) RecomputeIn(ctx context.Context, scope authn.LabScope, userIDs []int64) (int, error) {
	members, err := f.Members.Members(ctx, scope, userIDs)
	if err != nil || len(members) == 0 {
		return 0, err
	}
	return len(members), f.RecomputeForced(ctx, members)
}

// RecomputeForced computes patients of any laboratory. A row that the database refuses is an error here: nobody else
// would tell.
func (f Forced) RecomputeForced(ctx context.Context, userIDs []int64) error {
	targets := make([]Target, len(userIDs))
	for i, id := range userIDs {
		targets[i] = Target{UserID: id, Force: true}
	}
	return f.Recompute(ctx, targets)
}

// Recompute computes targets as they are, for callers that know the versions in the index.
func (f Forced) Recompute(ctx context.Context, targets []Target) error {
	summary, err := f.Users.Recompute(ctx, targets)
	if err != nil {
		return outcome.FaultOf(err)
	}
	for id, poison := range summary.Poison {
		return fmt.Errorf("patient %d and %d others refused: %w", id, len(summary.Poison)-1, poison)
	}
	return nil
}
