package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Profile says how much of Redis's contract is demanded.
type Profile string

// The profiles.
const (
	Durable  Profile = "durable"  // every accepted job survives kill -9 of Redis; anything less is refused
	Attested Profile = "attested" // the same, where Redis does not show whether it is so: the operator vouches for it
	Fast     Profile = "fast"     // whatever Redis offers; what may be lost is said; refused in production
)

// Contract is the outcome of one check of Redis's settings, in words for operators that end with what mends it.
type Contract struct {
	Broken []string // accepted jobs may be lost: the durable profile refuses
	Unseen []string // whether they may cannot be seen: the attested profile takes somebody's word
	Weak   []string // worth a change
}

// CheckContract reads what the engine relies on: version, role, append-only file, eviction, replicas. An error means
// that Redis could not be asked.
func (r *Redis) CheckContract(ctx context.Context) (Contract, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var c Contract
	var mu sync.Mutex // guards c: the masters are asked side by side
	err := r.eachMaster(ctx, func(ctx context.Context, one redis.Cmdable) error {
		var each Contract
		err := each.inspect(ctx, one, r.set)
		mu.Lock()
		defer mu.Unlock()
		c.Broken, c.Weak = append(c.Broken, each.Broken...), append(c.Weak, each.Weak...)
		c.Unseen = append(c.Unseen, each.Unseen...)
		return err
	})
	for _, list := range []*[]string{&c.Broken, &c.Unseen, &c.Weak} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c, err
}

// eachMaster asks the masters of a cluster side by side, or the one server.
func (r *Redis) eachMaster(ctx context.Context, ask func(context.Context, redis.Cmdable) error) error {
	node, isCluster := r.rdb.(*redis.ClusterClient)
	if !isCluster {
		return ask(ctx, r.rdb)
	}
	return node.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error { return ask(ctx, one) })
}

// Memory is how much of its memory the fullest master uses, 0 to 1. Zero: it has no limit but the machine's.
func (r *Redis) Memory(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var fullest float64
	var mu sync.Mutex // guards fullest
	err := r.eachMaster(ctx, func(ctx context.Context, one redis.Cmdable) error {
		text, err := one.Info(ctx, "memory").Result()
		if err != nil {
			return fmt.Errorf("ask redis for its memory: %w", err)
		}
		info := parseInfo(text)
		used, _ := strconv.ParseFloat(info["used_memory"], 64)
		limit, _ := strconv.ParseFloat(info["maxmemory"], 64)
		mu.Lock()
		defer mu.Unlock()
		if limit > 0 {
			fullest = max(fullest, used/limit)
		}
		return nil
	})
	return fullest, err
}

func (c *Contract) inspect(ctx context.Context, rdb redis.Cmdable, set Settings) error {
	text, err := rdb.Info(ctx, "everything").Result()
	if err != nil {
		return fmt.Errorf("ask redis for its state: %w", err)
	}
	info := parseInfo(text)
	settings, err := settingsOf(ctx, rdb)
	if err != nil {
		return err
	}
	c.server(info, set)
	c.eviction(info)
	if settings == nil {
		c.Unseen = append(c.Unseen, "CONFIG GET is not allowed, so appendonly and appendfsync cannot be checked: allow it to the user of the "+
			"queue (ACL SETUSER … +config|get); where the server refuses it to everybody, TASKQUEUE_PROFILE=attested says that you know that "+
			"it loses nothing it has acknowledged")
	} else {
		c.persistence(info, settings, set)
	}
	c.replication(info, settings, set)
	if settings["lazyfree-lazy-expire"] == "no" {
		c.weakness("lazyfree-lazy-expire is no: Redis stands still while an hour's results expire: CONFIG SET lazyfree-lazy-expire yes")
	}
	return nil
}

// settingsOf reads the settings that INFO does not tell; nil: the user of the queue may not.
func settingsOf(ctx context.Context, rdb redis.Cmdable) (map[string]string, error) {
	all := map[string]string{}
	for _, pattern := range []string{"*append*", "min-replicas-to-write", "lazyfree-lazy-expire"} {
		some, err := rdb.ConfigGet(ctx, pattern).Result()
		var answered redis.Error
		switch {
		case errors.As(err, &answered):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("ask redis for its settings: %w", err)
		}
		for name, value := range some {
			all[name] = value
		}
	}
	return all, nil
}

// The oldest versions that have what the engine uses.
const (
	oldest        = 700
	oldestWaitAOF = 702
)

func (c *Contract) server(info map[string]string, set Settings) {
	version := versionOf(info["redis_version"])
	if version < oldest {
		c.breach("version %s is older than 7.0: install a newer one", info["redis_version"])
	}
	if set.WaitAOF && version < oldestWaitAOF {
		c.breach("version %s has no WAITAOF: set TASKQUEUE_WAIT_AOF=false and appendfsync always, or install 7.2", info["redis_version"])
	}
	if info["role"] != "master" {
		c.breach("the role is %s, not master: name the master, or the sentinels that know it", info["role"])
	}
}

func (c *Contract) eviction(info map[string]string) {
	if info["maxmemory_policy"] != "noeviction" {
		c.breach("maxmemory-policy is %s, not noeviction, so jobs may be evicted: CONFIG SET maxmemory-policy noeviction",
			info["maxmemory_policy"])
	}
}

func (c *Contract) persistence(info, settings map[string]string, set Settings) {
	if info["aof_enabled"] != "1" {
		c.breach("appendonly is off, so a restart loses every job: CONFIG SET appendonly yes")
		return
	}
	if fsync, known := settings["appendfsync"]; known && fsync != "always" && !set.WaitAOF {
		c.breach("appendfsync is %s, not always, so up to 2 s of accepted jobs are lost when Redis is killed while the disk is slow: "+
			"CONFIG SET appendfsync always", fsync)
	}
	if settings["no-appendfsync-on-rewrite"] == "yes" {
		c.breach("no-appendfsync-on-rewrite is yes, so accepted jobs are lost when Redis is killed during a rewrite: " +
			"CONFIG SET no-appendfsync-on-rewrite no")
	}
}

func (c *Contract) replication(info, settings map[string]string, set Settings) {
	replicas := atoi(info["connected_slaves"])
	if replicas < set.WaitReplicas {
		c.weakness("%d replicas are connected and TASKQUEUE_WAIT_REPLICAS asks for %d: tasks are refused until there are enough",
			replicas, set.WaitReplicas)
	}
	if replicas > 0 && settings["min-replicas-to-write"] == "0" {
		c.weakness("min-replicas-to-write is 0: a master that was cut off from its replicas goes on accepting jobs that the " +
			"failover forgets: CONFIG SET min-replicas-to-write 1")
	}
	if replicas > 0 && set.WaitReplicas == 0 {
		c.weakness("there are replicas, and a failover forgets the jobs that they do not have yet: set TASKQUEUE_WAIT_REPLICAS=1")
	}
}

func (c *Contract) breach(format string, args ...any) {
	c.Broken = append(c.Broken, fmt.Sprintf(format, args...))
}

func (c *Contract) weakness(format string, args ...any) {
	c.Weak = append(c.Weak, fmt.Sprintf(format, args...))
}

// versionOf makes 702 of 7.2.5.
func versionOf(text string) int {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return atoi(major)*100 + atoi(minor)
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
