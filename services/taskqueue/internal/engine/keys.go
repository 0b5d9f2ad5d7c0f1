package engine

import (
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardKeys are the key names of one shard, made once. The hash tag is a constant of the shard: no text of a
// caller ever stands between the braces.
type shardKeys struct {
	prefix    string
	lanes     map[job.Lane]string
	rings     map[job.Lane]string // per lane: its flows, by the earliest due time that each may have
	leases    map[job.Channel]string
	bells     map[job.Channel]string
	counts    map[job.Channel]string // jobs begun by priority, attempts and those that failed, ever
	counter   string                 // claim counter
	claimer   string                 // prefix of the last claims of each claimer
	lost      string                 // claims whose answers got lost
	crashes   string
	renewals  string
	cancels   string
	intents   string
	dead      string
	deadInfo  string
	deadFlows string // the dead by flow and time, scored as lanes are
	ends      string // ids of ended jobs that wait for the archive
	endsGone  string // how many of them were ever forgotten
	body      string // prefix of bodies
	results   string // prefix of result buckets
	idem      string // prefix of idempotency records
	windowKey string // prefix of windows
	leader    string // who tidies the shard
	paused    string // channels, laboratories and receivers that are left alone
	groups    string // of parked jobs
	group     string // prefix of their lists
}

func newShardKeys(shard int) shardKeys {
	p := "tq:{" + tags[shard] + "}:"
	k := shardKeys{
		prefix:    p,
		lanes:     map[job.Lane]string{},
		rings:     map[job.Lane]string{},
		leases:    map[job.Channel]string{},
		bells:     map[job.Channel]string{},
		counts:    map[job.Channel]string{},
		counter:   p + "n",
		claimer:   p + "claim:",
		lost:      p + "lost",
		crashes:   p + "x",
		renewals:  p + "rn",
		cancels:   p + "cr",
		intents:   p + "si",
		dead:      p + "dead",
		deadInfo:  p + "dr",
		deadFlows: p + "deadflows",
		ends:      p + "ar",
		endsGone:  p + "arn",
		body:      p + "b:",
		results:   p + "r:",
		idem:      p + "idem:",
		windowKey: p + "w:",
		leader:    p + "lead:reaper",
		paused:    p + "paused",
		groups:    p + "groups",
		group:     p + "g:",
	}
	for _, l := range job.Lanes() {
		k.lanes[l] = fmt.Sprintf("%sl:%s:%d", p, l.Channel, l.Priority)
		k.rings[l] = fmt.Sprintf("%sring:%s:%d", p, l.Channel, l.Priority)
	}
	for _, c := range job.Channels() {
		k.leases[c] = p + "act:" + c.String()
		k.bells[c] = p + "bell:" + c.String()
		k.counts[c] = p + "count:" + c.String()
	}
	return k
}

func (k *shardKeys) bodyOf(id job.ID) string   { return k.body + string(id) }
func (k *shardKeys) bucketOf(id job.ID) string { return k.results + job.Hour(id.CreatedMs()) }

// windowOr is the key of a window, or the other key where there is none.
func (k *shardKeys) windowOr(window, other string) string {
	if window == "" {
		return other
	}
	return k.windowKey + window
}

// index numbers the distinct keys of one kind in the order of first use, starting at 1.
type index struct {
	keys  []string
	known map[string]int
}

func (x *index) number(key string) int {
	if n, ok := x.known[key]; ok {
		return n
	}
	if x.known == nil {
		x.known = make(map[string]int, 2)
	}
	x.keys = append(x.keys, key)
	x.known[key] = len(x.keys)
	return len(x.keys)
}
