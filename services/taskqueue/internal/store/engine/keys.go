package engine

import (
	"strconv"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardKeys names what one shard has in Redis; it is the prefix of all of it. The hash tag is a constant of the shard:
// no text of a caller ever stands between the braces.
type shardKeys string

func keysOf(shard int) shardKeys { return shardKeys("tq:{" + tags[shard] + "}:") }

// What a shard has one of, and the beginnings of what it has many of. These names are stored data: they never change.
const (
	counterKey   = "n"      // claim counter
	claimerKey   = "claim:" // + claimer: the token of its last claim
	lostKey      = "lost"   // claims whose answers got lost
	crashesKey   = "x"
	renewalsKey  = "rn"
	cancelsKey   = "cr"
	intentsKey   = "si"
	deadKey      = "dead"
	recordsKey   = "dr"        // of the dead
	deadFlowsKey = "deadflows" // the dead by flow and time, scored as lanes are
	endsKey      = "ar"        // ids of ended jobs that wait for the archive
	endsGoneKey  = "arn"       // how many of them were ever forgotten
	bodyKey      = "b:"        // + id
	resultsKey   = "r:"        // + hour of creation
	idemKey      = "idem:"     // + hash
	windowKey    = "w:"        // + hash
	leaderKey    = "lead:reaper"
	pausedKey    = "paused"    // channels, laboratories and receivers
	groupsKey    = "groups"    // of parked jobs
	groupKey     = "g:"        // + hash: one of their lists
	flowBytesKey = "flowbytes" // what one process measured for all, by flow
)

func (k shardKeys) the(name string) string { return string(k) + name }

// all are several of what there is one of.
func (k shardKeys) all(names ...string) []string {
	list := make([]string, len(names), len(names)+16)
	for i, name := range names {
		list[i] = k.the(name)
	}
	return list
}

// lives begins the keys of every script about the lives of jobs, in the order of lives.lua.
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

// lanesAndRings are those of the lanes, which scripts take one after the other.
func (k shardKeys) lanesAndRings(lanes ...job.Lane) []string {
	list := make([]string, 2*len(lanes), 2*len(lanes)+16)
	for i, l := range lanes {
		list[i], list[len(lanes)+i] = k.lane(l), k.ring(l)
	}
	return list
}

// windowOr is the key of a window, or the other key where there is none.
func (k shardKeys) windowOr(window, other string) string {
	if window == "" {
		return other
	}
	return k.the(windowKey + window)
}

// index numbers the distinct ones of what the jobs of a call share in the order of first use, starting at 1.
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
