package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// confirmTimeout is how long one attempt waits for disks and replicas. It is shorter than CallTimeout, which leaves
// time for the script.
const confirmTimeout = time.Second

// ErrUnconfirmed is returned if a batch is in the master's memory, but not yet on the replicas or disks that the
// settings require. Its jobs may run or be lost. Submitting the same batch again adds no jobs.
var ErrUnconfirmed = errors.New("too few replicas or disks have the batch")

// repeatConfirmed runs a script like repeat, and succeeds only if the required replicas and disks have what the script
// wrote. The script must write in every successful case, even if there is nothing left to do, because Redis waits for
// the last write of the connection.
func (r *Redis) repeatConfirmed(ctx context.Context, name string, keys []string, args []any) (any, error) {
	if r.set.WaitReplicas == 0 && !r.set.WaitAOF {
		return r.repeat(ctx, name, keys, args)
	}
	return r.again(ctx, func() (any, error) {
		return r.loaded(ctx, name, func(ctx context.Context) (any, error) { return r.confirmed(ctx, name, keys, args) })
	})
}

// confirmed sends the script, then WAIT or WAITAOF, over one connection to the master of the keys.
func (r *Redis) confirmed(ctx context.Context, name string, keys []string, args []any) (any, error) {
	node, err := r.masterOf(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	script := pipe.EvalSha(ctx, scripts[name].Hash(), keys, args...)
	question := []any{"WAIT", r.set.WaitReplicas, confirmTimeout.Milliseconds()}
	if r.set.WaitAOF {
		question = []any{"WAITAOF", 1, r.set.WaitReplicas, confirmTimeout.Milliseconds()}
	}
	copies := pipe.Do(ctx, question...)
	_, _ = pipe.Exec(ctx) // each command has its own error
	if err := errors.Join(script.Err(), copies.Err()); err != nil {
		return nil, err
	}
	if !r.enough(copies.Val()) {
		return nil, ErrUnconfirmed
	}
	return script.Val(), nil
}

// enough reports whether answer, the reply to WAIT or WAITAOF, meets the settings: the number of replicas, or the
// numbers of disks and replicas.
func (r *Redis) enough(answer any) bool {
	if !r.set.WaitAOF {
		return number(answer) >= int64(r.set.WaitReplicas)
	}
	had, _ := answer.([]any)
	return len(had) == 2 && number(had[0]) >= 1 && number(had[1]) >= int64(r.set.WaitReplicas)
}

func (r *Redis) masterOf(ctx context.Context, key string) (redis.Cmdable, error) {
	if cluster, ok := r.rdb.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return r.rdb, nil
}
