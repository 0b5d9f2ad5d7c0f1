package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// confirmTimeout is how long one try waits for disks and replicas; it leaves time for the script.
const confirmTimeout = time.Second

// ErrUnconfirmed tells that a batch is in the master's memory and not yet where the settings want it. It may be lost
// and it may run; the same batch again is the same jobs.
var ErrUnconfirmed = errors.New("too few replicas or disks have the batch")

// repeatConfirmed is repeat, and succeeds only when the replicas and the disk that the settings name have what the
// script wrote. The script writes in every successful case, also when it finds its work done: Redis waits for the
// last write of the same connection.
func (r *Redis) repeatConfirmed(ctx context.Context, name string, keys []string, args []any) (any, error) {
	if r.set.WaitReplicas == 0 && !r.set.WaitAOF {
		return r.repeat(ctx, name, keys, args)
	}
	return r.again(ctx, func() (any, error) { return r.runConfirmed(ctx, name, keys, args) })
}

func (r *Redis) runConfirmed(ctx context.Context, name string, keys []string, args []any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	reply, had, err := r.pipeConfirmed(ctx, name, keys, args)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = r.Load(ctx); err != nil {
			return nil, err
		}
		reply, had, err = r.pipeConfirmed(ctx, name, keys, args)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("run script %s: %w", name, err)
	case !r.enough(had):
		return nil, fmt.Errorf("run script %s: %w", name, ErrUnconfirmed)
	}
	return reply, nil
}

// pipeConfirmed sends the script and the question for its copies over one connection to the keys' master; had are the
// numbers of disks (WaitAOF alone) and of replicas.
func (r *Redis) pipeConfirmed(
	ctx context.Context, name string, keys []string, args []any,
) (reply any, had []int64, err error) {
	var node redis.Cmdable = r.rdb
	if cluster, ok := r.rdb.(*redis.ClusterClient); ok {
		if node, err = cluster.MasterForKey(ctx, keys[0]); err != nil {
			return nil, nil, err
		}
	}
	pipe := node.Pipeline()
	script := pipe.EvalSha(ctx, r.scripts[name].Hash(), keys, args...)
	question := []any{"WAIT", r.set.WaitReplicas, confirmTimeout.Milliseconds()}
	if r.set.WaitAOF {
		question = []any{"WAITAOF", 1, r.set.WaitReplicas, confirmTimeout.Milliseconds()}
	}
	copies := pipe.Do(ctx, question...)
	_, _ = pipe.Exec(ctx) // each command has its own error
	if reply, err = script.Result(); err != nil {
		return nil, nil, err
	}
	answer, err := copies.Result()
	if list, ok := answer.([]any); ok {
		for _, n := range list {
			had = append(had, number(n))
		}
		return reply, had, err
	}
	return reply, []int64{number(answer)}, err
}

func (r *Redis) enough(had []int64) bool {
	if r.set.WaitAOF {
		return len(had) == 2 && had[0] >= 1 && had[1] >= int64(r.set.WaitReplicas)
	}
	return len(had) == 1 && had[0] >= int64(r.set.WaitReplicas)
}
