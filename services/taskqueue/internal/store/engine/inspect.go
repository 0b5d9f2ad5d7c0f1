package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Traces is the set of places in Redis that contain data of a job.
type Traces int

// Bits of Traces. A sound job has at most one of InLane, InLease and InDead.
const (
	InLane  Traces = 1 << iota
	InLease        // the job is running
	InDead         // the job is kept for /retryTask/
	HasBody
	HasResult // a record in the result bucket of the hour of its creation
	HasGrave  // a record among the dead letters
	HasCrashes
	HasRenewal
	HasCancel
	HasIntent
)

// Source is a key, or a prefix of keys, in which ids of jobs are stored.
type Source struct {
	Name string // shown to operators: "lane", "leases", "dead", "bodies", …
	key  string
	kind byte                 // type of the key: z sorted set, h hash; k: key is a prefix
	own  func(id job.ID) bool // nil: any job of the shard may be there
}

// MayHold reports whether a job of the shard may be there.
func (s Source) MayHold(id job.ID) bool { return s.own == nil || s.own(id) }

// Sources returns all sources of a shard.
func (r *Redis) Sources(shard int) []Source {
	k := keysOf(shard)
	list := []Source{
		{Name: "bodies", key: k.body(""), kind: 'k'},
		{Name: "dead", key: k.the(deadKey), kind: 'z'},
		{Name: "records of the dead", key: k.the(recordsKey), kind: 'h'},
		{Name: "crash counters", key: k.the(crashesKey), kind: 'h'},
		{Name: "renewals", key: k.the(renewalsKey), kind: 'h'},
		{Name: "cancel requests", key: k.the(cancelsKey), kind: 'h'},
		{Name: "send intents", key: k.the(intentsKey), kind: 'h'},
	}
	for _, l := range job.Lanes() {
		own := func(id job.ID) bool { return id.Lane() == l }
		list = append(list, Source{Name: "lane", key: k.lane(l), kind: 'z', own: own})
	}
	for _, c := range job.Channels() {
		own := func(id job.ID) bool { return id.Lane().Channel == c }
		list = append(list, Source{Name: "leases", key: k.leases(c), kind: 'z', own: own})
	}
	return list
}

// Page reads about count ids of a source from cursor on; the next cursor is 0 at the end. An id may appear twice, and
// ids added or removed during the scan may be missing. The texts are not validated and may not be ids.
func (r *Redis) Page(
	ctx context.Context, s Source, cursor uint64, count int64,
) (texts []string, next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	switch s.kind {
	case 'z':
		texts, next, err = r.rdb.ZScan(ctx, s.key, cursor, "", count).Result()
		texts = everySecond(texts)
	case 'h':
		texts, next, err = r.rdb.HScan(ctx, s.key, cursor, "", count).Result()
		texts = everySecond(texts)
	default:
		texts, next, err = r.scan(ctx, s.key, cursor, count)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("scan %s: %w", s.Name, err)
	}
	return texts, next, nil
}

// scan reads a page of the keys with a prefix on the node of the shard. It returns the keys without the prefix.
func (r *Redis) scan(ctx context.Context, prefix string, cursor uint64, count int64) ([]string, uint64, error) {
	node, err := r.masterOf(ctx, prefix)
	if err != nil {
		return nil, 0, err
	}
	keys, next, err := node.Scan(ctx, cursor, prefix+"*", count).Result()
	for i := range keys {
		keys[i] = strings.TrimPrefix(keys[i], prefix)
	}
	return keys, next, err
}

func everySecond(list []string) []string {
	out := make([]string, 0, len(list)/2)
	for pair := range slices.Chunk(list, 2) {
		out = append(out, pair[0])
	}
	return out
}

// Repair removes a damaged job from the queue, unless it changed since it was observed. A finished job stays finished;
// another one with a body becomes a dead letter of this flow, with the given record. With an empty record, only the
// remains of a finished run are deleted. Repair reports whether the job was unchanged.
func (r *Redis) Repair(ctx context.Context, observed Snapshot, record []byte, flow job.Flow) (bool, error) {
	k := keysOf(observed.ID.Shard())
	reply, err := r.run(ctx, "repair", k.lives(k.places(observed.ID)...),
		[]any{string(observed.ID), int(observed.Traces), record, flow.Base(), seconds(r.set.KeepResults)})
	return number(reply) == 1, err
}

// Remove deletes an invalid entry from its source.
func (r *Redis) Remove(ctx context.Context, s Source, text string) error {
	pipe := r.rdb.Pipeline()
	switch s.kind {
	case 'z':
		pipe.ZRem(ctx, s.key, text)
	case 'h':
		pipe.HDel(ctx, s.key, text)
	default:
		pipe.Unlink(ctx, s.key+text)
	}
	return r.send(ctx, pipe, "remove from "+s.Name)
}
