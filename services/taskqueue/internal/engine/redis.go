package engine

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
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
	IdlePoll        time.Duration // longest sleep of an idle pump
	WindowKeepAfter time.Duration // a window hash outlives its due time by this
	WaitReplicas    int           // a batch is accepted when so many replicas have it
	WaitAOF         bool          // a batch is accepted when it is on the master's disk, whatever appendfsync says
	Archive         bool          // somebody archives: note every end for it
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
		CallTimeout: 3 * time.Second, IdlePoll: time.Second, WindowKeepAfter: 24 * time.Hour}
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
	rdb     redis.UniversalClient
	bells   redis.UniversalClient
	set     Settings
	user    string
	timeout time.Duration
	scripts map[string]*redis.Script
	shards  []shardKeys
	rings   []map[job.Channel]*bell // per shard
	pause   func(context.Context, time.Duration) error
	clock   clock.Clock
}

// New makes an engine; it does not connect.
func New(c Config) (*Redis, error) {
	if c.Client == nil || c.Bells == nil {
		return nil, errors.New("the engine needs two Redis clients")
	}
	scripts, err := readScripts()
	if err != nil {
		return nil, err
	}
	r := &Redis{
		rdb:     c.Client,
		bells:   c.Bells,
		set:     c.Settings,
		user:    c.User,
		timeout: c.Settings.CallTimeout,
		scripts: scripts,
		pause:   pause,
		clock:   clock.System{},
	}
	for s := range job.Shards {
		r.shards = append(r.shards, newShardKeys(s))
		rings := make(map[job.Channel]*bell, len(job.Channels()))
		for _, c := range job.Channels() {
			rings[c] = &bell{rung: make(chan error, 1)}
		}
		r.rings = append(r.rings, rings)
	}
	return r, nil
}

// Lease is how long a claim lasts without renewal.
func (r *Redis) Lease() time.Duration { return r.set.Lease }

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
