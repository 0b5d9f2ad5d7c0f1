package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Profile says how much of Redis's contract is demanded.
type Profile string

// The profiles.
const (
	Durable Profile = "durable" // every accepted job survives kill -9 of Redis; anything less is refused
	Fast    Profile = "fast"    // whatever Redis offers; what may be lost is said
)

// Contract is the outcome of one check of Redis's settings.
type Contract struct {
	Broken []string // why the durable profile refuses, in words for operators
}

// CheckContract reads what the engine relies on: version, role, append-only file, eviction. An error means that
// Redis could not be asked.
func (r *Redis) CheckContract(ctx context.Context) (Contract, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var c Contract
	node, isCluster := r.rdb.(*redis.ClusterClient)
	if !isCluster {
		return c, c.inspect(ctx, r.rdb)
	}
	var mu sync.Mutex // guards c: the masters are asked side by side
	err := node.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		var each Contract
		err := each.inspect(ctx, one)
		mu.Lock()
		defer mu.Unlock()
		c.Broken = append(c.Broken, each.Broken...)
		return err
	})
	slices.Sort(c.Broken)
	c.Broken = slices.Compact(c.Broken)
	return c, err
}

func (c *Contract) inspect(ctx context.Context, rdb redis.Cmdable) error {
	text, err := rdb.Info(ctx, "everything").Result()
	if err != nil {
		return fmt.Errorf("ask redis for its state: %w", err)
	}
	info := parseInfo(text)
	if major, _, _ := strings.Cut(info["redis_version"], "."); atoi(major) < 7 {
		c.breach("version %s is older than 7.0", info["redis_version"])
	}
	if info["role"] != "master" {
		c.breach("the role is %s, not master", info["role"])
	}
	if info["maxmemory_policy"] != "noeviction" {
		c.breach("maxmemory-policy is %s, not noeviction: jobs may be evicted", info["maxmemory_policy"])
	}
	if info["aof_enabled"] != "1" {
		c.breach("appendonly is off: a restart loses every job")
		return nil
	}
	return c.inspectFsync(ctx, rdb)
}

func (c *Contract) inspectFsync(ctx context.Context, rdb redis.Cmdable) error {
	settings, err := rdb.ConfigGet(ctx, "*append*").Result()
	if err != nil {
		var answered redis.Error
		if errors.As(err, &answered) {
			c.breach("CONFIG GET is not allowed, so appendfsync cannot be checked")
			return nil
		}
		return fmt.Errorf("ask redis for its settings: %w", err)
	}
	if settings["appendfsync"] != "always" {
		c.breach(
			"appendfsync is %s, not always: up to 2 s of accepted jobs are lost when Redis is killed while the disk is slow",
			settings["appendfsync"],
		)
	}
	if settings["no-appendfsync-on-rewrite"] == "yes" {
		c.breach("no-appendfsync-on-rewrite is yes: accepted jobs are lost when Redis is killed during a rewrite")
	}
	return nil
}

func (c *Contract) breach(format string, args ...any) {
	c.Broken = append(c.Broken, fmt.Sprintf(format, args...))
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			info[name] = value
		}
	}
	return info
}

// Gate keeps enqueue closed until Redis was found fit. Jobs that exist are drained in any case.
type Gate struct {
	*Redis
	profile Profile
	warn    func(broken []string) // called when a check finds other breaches than the one before
	state   atomic.Pointer[gateState]
}

type gateState struct {
	open   bool
	broken string
}

// ErrClosed tells that Redis was not found fit for the profile, or was not asked yet.
var ErrClosed = errors.New("redis does not keep the durable profile")

// NewGate makes a closed gate; Check opens it.
func NewGate(r *Redis, profile Profile, warn func(broken []string)) *Gate {
	g := &Gate{Redis: r, profile: profile, warn: warn}
	g.state.Store(&gateState{})
	return g
}

// Check asks Redis, opens or closes the gate, and loads the scripts when it opens. It is the readiness probe.
func (g *Gate) Check(ctx context.Context) error {
	c, err := g.CheckContract(ctx)
	if err != nil {
		return err
	}
	before := g.state.Load()
	now := &gateState{open: len(c.Broken) == 0 || g.profile == Fast, broken: strings.Join(c.Broken, "; ")}
	if now.broken != "" && now.broken != before.broken {
		g.warn(c.Broken)
	}
	if now.open && !before.open {
		if err := g.Load(ctx); err != nil {
			return err
		}
	}
	g.state.Store(now)
	if !now.open {
		return fmt.Errorf("%w: %s", ErrClosed, now.broken)
	}
	return nil
}

// Enqueue refuses while the gate is closed.
func (g *Gate) Enqueue(ctx context.Context, b Batch) (Accepted, error) {
	if s := g.state.Load(); !s.open {
		return Accepted{}, ErrClosed
	}
	return g.Redis.Enqueue(ctx, b)
}
