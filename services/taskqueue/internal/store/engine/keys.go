package engine

import (
	"strconv"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardKeys is the prefix of all Redis keys of one shard. The hash tag is a constant of the shard, so text from a
// caller never appears between the braces.
type shardKeys string

func keysOf(shard int) shardKeys { return shardKeys("tq:{" + tags[shard] + "}:") }

// Keys of a shard, and prefixes of its repeated keys. The names are stored data and never change.
const (
	counterKey   = "n"      // claim counter
	claimerKey   = "claim:" // + claimer: the token of its last claim
	lostKey      = "lost"   // claims whose replies were lost
	crashesKey   = "x"
	renewalsKey  = "rn"
	cancelsKey   = "cr"
	intentsKey   = "si"
	deadKey      = "dead"
	recordsKey   = "dr"        // result records of dead letters
	deadFlowsKey = "deadflows" // dead letters by flow and time, scored as in lanes
	endsKey      = "ar"        // archive queue: ids of finished jobs
	endsGoneKey  = "arn"       // number of jobs ever removed from the archive queue
	bodyKey      = "b:"        // + id
	resultsKey   = "r:"        // + hour of creation
	idemKey      = "idem:"     // + hash
	windowKey    = "w:"        // + hash
	leaderKey    = "lead:reaper"
	pausedKey    = "paused"    // paused channels, laboratories and receivers
	groupsKey    = "groups"    // groups of parked jobs
	groupKey     = "g:"        // + hash: one of their lists
	flowBytesKey = "flowbytes" // waiting bytes by flow, measured by one process for all
)

func (k shardKeys) the(name string) string { return string(k) + name }

func (k shardKeys) all(names ...string) []string {
	list := make([]string, len(names), len(names)+16)
	for i, name := range names {
		list[i] = k.the(name)
	}
	return list
}

// lives returns the keys with which every script that uses lives.lua begins, in the order of that file, followed by
// more.
func (k shardKeys) lives(more ...string) []string {
	list := append(k.all(deadKey, recordsKey, deadFlowsKey, crashesKey, renewalsKey, cancelsKey, intentsKey, endsKey),
		k.lane(CallbackLane()), k.ring(CallbackLane()), k.bell(job.Callback))
	return append(list, more...)
}

func (k shardKeys) lane(l job.Lane) string      { return k.the("l:" + nameOf(l)) }
func (k shardKeys) ring(l job.Lane) string      { return k.the("ring:" + nameOf(l)) }
func (k shardKeys) leases(c job.Channel) string { return k.the("act:" + c.String()) }
func (k shardKeys) bell(c job.Channel) string   { return k.the("bell:" + c.String()) }
func (k shardKeys) counts(c job.Channel) string { return k.the("count:" + c.String()) }
func (k shardKeys) body(id job.ID) string       { return string(k) + bodyKey + string(id) }
func (k shardKeys) results(createdMs int64) string {
	return string(k) + resultsKey + job.Hour(createdMs)
}

func nameOf(l job.Lane) string { return l.Channel.String() + ":" + strconv.Itoa(int(l.Priority)) }

// lanesAndRings returns the keys of the lanes, followed by those of their ready indexes in the same order.
func (k shardKeys) lanesAndRings(lanes ...job.Lane) []string {
	list := make([]string, 2*len(lanes), 2*len(lanes)+16)
	for i, l := range lanes {
		list[i], list[len(lanes)+i] = k.lane(l), k.ring(l)
	}
	return list
}

// windowOr returns the key of a window, or other if window is empty.
func (k shardKeys) windowOr(window, other string) string {
	if window == "" {
		return other
	}
	return k.the(windowKey + window)
}

// index numbers distinct values in the order of their first use, starting at 1, so that the jobs of a call can refer to
// shared values.
type index[T comparable] struct {
	list  []T
	known map[T]int
}

func (x *index[T]) number(one T) int {
	if n, ok := x.known[one]; ok {
		return n
	}
	if x.known == nil {
		x.known = make(map[T]int, 2)
	}
	x.list = append(x.list, one)
	x.known[one] = len(x.list)
	return len(x.list)
}
