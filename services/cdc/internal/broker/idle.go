package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// A member that dies between giving partitions up and joining again, and comes back under its name, gets what it had
// without a rebalance: what it gave up belongs to nobody, for as long as nobody joins or leaves. A member may also have
// been given partitions that it does not read. Neither shows in the lag of any process.
const (
	lookPause = 5 * time.Second
	patience  = 3 // looks; a rebalance settles in less
)

// idle looks until ctx ends, or until partitions have been without work for longer than a rebalance takes; then it
// returns true, and a new start of this member gives all partitions out again. Members take turns: the next one only
// acts when the first did not help.
func (g *Group) idle(ctx context.Context) bool {
	for looks := 0; lifecycle.Pause(ctx, g.look) == nil; {
		trouble, turn, err := g.unworked(ctx)
		switch {
		case err != nil: // without brokers there is no group
		case trouble == "":
			looks = 0
		case looks < patience+turn:
			looks++
		default:
			g.log.Warn("partitions are without work; this process joins the group anew", "trouble", trouble)
			return true
		}
	}
	return false
}

// unworked tells which partitions nobody works on, "" when there are none, and this member's turn to do something.
func (g *Group) unworked(ctx context.Context) (trouble string, turn int, err error) {
	o, err := g.positions.ownership(ctx, g.topics)
	if err != nil || !o.settled {
		return "", 0, err
	}
	g.mu.Lock()
	claims, id := g.claims, g.memberID
	g.mu.Unlock()
	if given := o.given[id]; given != claims {
		return fmt.Sprintf("this process reads %d of the %d partitions that it was given", claims, given), 0, nil
	}
	if o.vacant > 0 {
		return fmt.Sprintf("%d partitions belong to no member", o.vacant), max(0, slices.Index(o.members, id)), nil
	}
	return "", 0, nil
}
