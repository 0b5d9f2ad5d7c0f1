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

// Settings tune the engine; every field must be set, see DefaultSettings.
type Settings struct {
	Lease           time.Duration // how long a claim lasts without renewal
	Ageing          time.Duration // a lane whose head waited longer counts as one level higher
	LowShare        int           // percent of a claim kept for low priority
	ModerateShare   int
	LaneLimit       int           // jobs in one lane before enqueue is refused
	FlowLimit       int           // jobs of one flow in one lane, the platform's own excepted
	KeepResults     time.Duration // result records
	CallTimeout     time.Duration // one script call, at least 3 s
	WindowKeepAfter time.Duration // a window hash outlives its due time by this
	WaitReplicas    int           // a batch is accepted when so many replicas have it
	WaitAOF         bool          // a batch is accepted when it is on the master's disk, whatever appendfsync says
	Archive         bool          // someone archives: note every end for it
	EndsLimit       int           // with so many ends waiting for the archive, ordinary jobs are not claimed; 0: no limit
}

// callbackPart of a flow's jobs in a lane, as a divisor, may be callbacks that wait for their receiver.
const callbackPart = 10

// CallbackLimit is how many callbacks of one flow may wait on a shard.
func (s Settings) CallbackLimit() int { return (s.FlowLimit + callbackPart - 1) / callbackPart }

// DefaultSettings are the documented values.
func DefaultSettings() Settings {
	return Settings{Lease: 15 * time.Second, Ageing: 30 * time.Second, LowShare: 10, ModerateShare: 20,
		LaneLimit: 5_000_000, FlowLimit: 1_000_000, KeepResults: 24 * time.Hour,
		CallTimeout: 3 * time.Second, WindowKeepAfter: 24 * time.Hour}
}

// Config wires a Redis engine. The caller closes both clients.
type Config struct {
	Client   redis.UniversalClient // MaxRetries must be -1: the engine decides what may be repeated
	Bells    redis.UniversalClient // blocked connections of idle pumps: one per channel and shard
	Settings Settings
	User     string // of the client, for what is said about its rights; empty: default
}

// Redis is the engine on a real Redis. Safe for concurrent use.
type Redis struct {
	rdb   redis.UniversalClient
	bells redis.UniversalClient
	set   Settings
	user  string
	heard [job.Shards]map[job.Channel]*bell
}

// New makes an engine; it does not connect.
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

// Lease is how long a claim lasts without renewal.
func (r *Redis) Lease() time.Duration { return r.set.Lease }

// send sends a pipeline within the time of a call. That there is nothing under a key is not an error.
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
