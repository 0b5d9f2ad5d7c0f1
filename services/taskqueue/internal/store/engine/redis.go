package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Settings holds the limits and times of the engine. DefaultSettings has usable values.
type Settings struct {
	Lease           time.Duration // how long a claim lasts without renewal
	Ageing          time.Duration // a lane whose first job has waited longer counts as one priority higher
	LowShare        int           // percentage of a claim kept for low priority
	ModerateShare   int
	LaneLimit       int           // maximum number of jobs in one lane of a shard
	FlowLimit       int           // maximum per flow in a lane; reserved flows: a hundredth; the platform's: no limit
	KeepResults     time.Duration // lifetime of result records
	CallTimeout     time.Duration // timeout of one script call, at least 3 s
	WindowKeepAfter time.Duration // how long the record of a window is kept after its due time
	WaitReplicas    int           // replicas that must have a batch before it is accepted
	WaitAOF         bool          // a batch is accepted only once it is on the master's disk, regardless of appendfsync
	Archive         bool          // finished jobs are added to the archive queue
	EndsLimit       int           // archive queue length at which claims stop for ordinary jobs; 0: no limit
}

// callbackPart is the divisor of FlowLimit for the limit of waiting callbacks: a tenth.
const callbackPart = 10

// CallbackLimit returns how many callbacks of one flow may wait on a shard.
func (s Settings) CallbackLimit() int { return (s.FlowLimit + callbackPart - 1) / callbackPart }

// DefaultSettings returns the documented values, without an archive and without waiting for replicas or disks.
func DefaultSettings() Settings {
	return Settings{Lease: 15 * time.Second, Ageing: 30 * time.Second, LowShare: 10, ModerateShare: 20,
		LaneLimit: 5_000_000, FlowLimit: 1_000_000, KeepResults: 24 * time.Hour,
		CallTimeout: 3 * time.Second, WindowKeepAfter: 24 * time.Hour}
}

// Config holds the dependencies of the engine. The caller closes both clients.
type Config struct {
	Client   redis.UniversalClient // MaxRetries must be -1, because the engine decides what may be repeated
	Bells    redis.UniversalClient // for the blocked connections of idle fetchers, one per channel and shard
	Settings Settings
	User     string // Redis user of the client, for messages about missing rights; empty: default
}

// Redis is the engine on a Redis server, cluster or sentinel setup. It is safe for concurrent use.
type Redis struct {
	rdb   redis.UniversalClient
	bells redis.UniversalClient
	set   Settings
	user  string
	heard [job.Shards]map[job.Channel]*bell
}

// New returns an engine. It does not connect.
func New(c Config) *Redis {
	r := &Redis{rdb: c.Client, bells: c.Bells, set: c.Settings, user: cmp.Or(c.User, "default")}
	for shard := range r.heard {
		r.heard[shard] = map[job.Channel]*bell{}
		for _, c := range job.Channels() {
			r.heard[shard][c] = &bell{rung: make(chan error, 1)}
		}
	}
	return r
}

// Lease returns how long a claim lasts without renewal.
func (r *Redis) Lease() time.Duration { return r.set.Lease }

// send executes a pipeline within CallTimeout. A missing key is not an error.
func (r *Redis) send(ctx context.Context, pipe redis.Pipeliner, what string) error {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	commands, _ := pipe.Exec(ctx) // each command has its own error
	for _, one := range commands {
		if err := one.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
