package engine

import (
	"context"
	"time"
)

// Lead makes owner the one that tidies a shard for the next d, unless somebody else is. The answer is the number of the
// leadership, which rises with every change, so that a leader of former times can be refused; 0: somebody else leads.
func (r *Redis) Lead(ctx context.Context, shard int, owner string, d time.Duration) (fence int64, err error) {
	reply, err := r.repeat(ctx, "lead", []string{r.shards[shard].leader}, []any{owner, d.Milliseconds()})
	return number(reply), err
}
