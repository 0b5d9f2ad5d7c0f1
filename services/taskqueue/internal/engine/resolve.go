package engine

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Resolution is the end of a job that had ended as unknown.
type Resolution struct {
	ID        job.ID
	Observed  []byte // the record that says unknown
	Record    []byte
	Sent      bool // finished: nothing is kept for a retry
	Callbacks []NewJob
}

// Resolve replaces the record of a dead job and reports whether it was the observed one. Safe to call again.
func (r *Redis) Resolve(ctx context.Context, x Resolution) (bool, error) {
	k := &r.shards[x.ID.Shard()]
	keys := []string{k.dead, k.deadInfo, k.bucketOf(x.ID), k.bodyOf(x.ID), k.bells[job.Callback],
		k.lanes[CallbackLane()], k.ends, k.rings[CallbackLane()], k.deadFlows}
	args := []any{string(x.ID), x.Observed, x.Record, flag(x.Sent), seconds(r.set.KeepResults), flag(r.set.Archive)}
	for _, child := range x.Callbacks {
		keys = append(keys, k.bodyOf(child.ID))
		args = append(args, string(child.ID), child.Body, child.Flow.Base())
	}
	reply, err := r.repeat(ctx, "resolve", keys, args)
	return number(reply) == 1, err
}
