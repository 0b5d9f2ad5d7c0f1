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

// Forced computes patients whom someone names, and writes their rows also when they are equal: the index follows
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
	refused, err := f.RecomputeForced(ctx, members)
	if err != nil {
		return 0, err
	}
	return len(members), f.first(refused)
}

// RecomputeForced computes patients of any laboratory. It returns those whose row the database refuses, and why: no one
// else would tell.
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

// first is the error of a call in which rows were refused.
func (f Forced) first(refused map[int64]error) error {
	for id, poison := range refused {
		return fmt.Errorf("patient %d and %d others refused: %w", id, len(refused)-1, poison)
	}
	return nil
}
