package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Profile is the durability required of Redis.
type Profile string

// Values of the setting TASKQUEUE_PROFILE.
const (
	Durable  Profile = "durable"  // every accepted job survives kill -9 of Redis; anything less is rejected
	Attested Profile = "attested" // like Durable, but trusts the operator for settings that Redis does not report
	Fast     Profile = "fast"     // accepts any Redis and warns what may be lost; rejected in production
)

// Contract is the result of one check of Redis's settings. Its texts are for operators; each ends with the command that
// fixes the problem.
type Contract struct {
	Broken []string // accepted jobs may be lost: rejected by the durable and the attested profile
	Unseen []string // settings that Redis does not report: only the attested profile accepts them
	Weak   []string // recommended changes
}

// CheckContract checks what the engine relies on: version, role, append-only file, eviction and replicas. It returns an
// error if Redis could not be read.
func (r *Redis) CheckContract(ctx context.Context) (Contract, error) {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	var c Contract
	err := r.eachMaster(ctx, func(ctx context.Context, one redis.Cmdable) error { return c.inspect(ctx, one, r.set) })
	for _, list := range []*[]string{&c.Broken, &c.Unseen, &c.Weak} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c, err
}

// eachMaster calls ask for each master of a cluster in turn, or for the single server.
func (r *Redis) eachMaster(ctx context.Context, ask func(context.Context, redis.Cmdable) error) error {
	node, isCluster := r.rdb.(*redis.ClusterClient)
	if !isCluster {
		return ask(ctx, r.rdb)
	}
	var turn sync.Mutex
	return node.ForEachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		turn.Lock()
		defer turn.Unlock()
		return ask(ctx, one)
	})
}

// Memory returns the share of its memory limit used by the fullest master, from 0 to 1; 0 if Redis has no limit.
func (r *Redis) Memory(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	var fullest float64
	err := r.eachMaster(ctx, func(ctx context.Context, one redis.Cmdable) error {
		text, err := one.Info(ctx, "memory").Result()
		if err != nil {
			return fmt.Errorf("ask redis for its memory: %w", err)
		}
		info := parseInfo(text)
		used, _ := strconv.ParseFloat(info["used_memory"], 64)
		limit, _ := strconv.ParseFloat(info["maxmemory"], 64)
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
	c.durability(info, settings, set)
	c.replication(info, settings, set)
	return nil
}

// settingsOf reads the settings that INFO does not contain; nil if the queue's user may not read them.
func settingsOf(ctx context.Context, rdb redis.Cmdable) (map[string]string, error) {
	all := map[string]string{}
	for _, pattern := range []string{"*append*", "min-replicas-to-write", "lazyfree-lazy-expire"} {
		some, err := rdb.ConfigGet(ctx, pattern).Result()
		switch {
		case err != nil && answered(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("ask redis for its settings: %w", err)
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// Oldest supported Redis versions of the engine and of WAITAOF, as 100 × major + minor.
const (
	oldest        = 700
	oldestWaitAOF = 702
)

func (c *Contract) server(info map[string]string, set Settings) {
	version, policy := versionOf(info["redis_version"]), info["maxmemory_policy"]
	when(version < oldest, &c.Broken, "version %s is older than 7.0: install a newer one", info["redis_version"])
	when(set.WaitAOF && version < oldestWaitAOF, &c.Broken,
		"version %s has no WAITAOF: set TASKQUEUE_WAIT_AOF=false and appendfsync always, or install 7.2", info["redis_version"])
	when(info["role"] != "master", &c.Broken,
		"the role is %s, not master: name the master, or the sentinels that know it", info["role"])
	when(policy != "noeviction", &c.Broken,
		"maxmemory-policy is %s, not noeviction, so jobs may be evicted: CONFIG SET maxmemory-policy noeviction", policy)
}

// durability records the settings with which Redis loses accepted jobs when it is killed.
func (c *Contract) durability(info, settings map[string]string, set Settings) {
	if settings == nil {
		when(true, &c.Unseen, "CONFIG GET is not allowed, so appendonly and appendfsync cannot be checked: allow it to the user of the "+
			"queue (ACL SETUSER … +config|get); where the server refuses it to everybody, TASKQUEUE_PROFILE=attested confirms that "+
			"it loses nothing it has acknowledged")
		return
	}
	when(settings["lazyfree-lazy-expire"] == "no", &c.Weak,
		"lazyfree-lazy-expire is no: Redis stands still while an hour's results expire: CONFIG SET lazyfree-lazy-expire yes")
	if info["aof_enabled"] != "1" {
		when(true, &c.Broken, "appendonly is off, so a restart loses every job: CONFIG SET appendonly yes")
		return
	}
	fsync, known := settings["appendfsync"]
	when(known && fsync != "always" && !set.WaitAOF, &c.Broken,
		"appendfsync is %s, not always, so up to 2 s of accepted jobs are lost when Redis is killed while the disk is slow: "+
			"CONFIG SET appendfsync always", fsync)
	when(settings["no-appendfsync-on-rewrite"] == "yes", &c.Broken,
		"no-appendfsync-on-rewrite is yes, so accepted jobs are lost when Redis is killed during a rewrite: "+
			"CONFIG SET no-appendfsync-on-rewrite no")
}

func (c *Contract) replication(info, settings map[string]string, set Settings) {
	replicas := atoi(info["connected_slaves"])
	when(replicas < set.WaitReplicas, &c.Weak,
		"%d replicas are connected and TASKQUEUE_WAIT_REPLICAS asks for %d: tasks are refused until there are enough",
		replicas, set.WaitReplicas)
	when(replicas > 0 && settings["min-replicas-to-write"] == "0", &c.Weak,
		"min-replicas-to-write is 0: a master that was cut off from its replicas keeps accepting jobs that the "+
			"failover forgets: CONFIG SET min-replicas-to-write 1")
	when(replicas > 0 && set.WaitReplicas == 0, &c.Weak,
		"there are replicas, and a failover forgets the jobs that they do not have yet: set TASKQUEUE_WAIT_REPLICAS=1")
}

func when(is bool, list *[]string, format string, args ...any) {
	if is {
		*list = append(*list, fmt.Sprintf(format, args...))
	}
}

// versionOf converts a version to a number, such as "7.2.5" to 702.
func versionOf(text string) int {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return atoi(major)*100 + atoi(minor)
}

func atoi(s string) int { return int(whole(s)) }

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			info[name] = value
		}
	}
	return info
}
