package engine

import (
	"context"
	"time"
)

// Work is what one process at a time does on a shard.
type Work string

// The works.
const (
	Reaping   Work = "reaper"
	Auditing  Work = "auditor"
	Archiving Work = "archiver"
	Weighing  Work = "weigher" // of the bytes that wait
)

// Lead makes owner the one that does a work on a shard for the next d, unless somebody else is. The answer is the
// number of the leadership, which rises with every change, so that a leader of former times can be refused; 0: somebody
// else leads.
func (r *Redis) Lead(ctx context.Context, shard int, w Work, owner string, d time.Duration) (fence int64, err error) {
	reply, err := r.repeat(ctx, "lead", []string{r.shards[shard].leader(w)}, []any{owner, d.Milliseconds()})
	return number(reply), err
}

func (k *shardKeys) leader(w Work) string { return k.prefix + "lead:" + string(w) }
