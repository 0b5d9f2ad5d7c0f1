package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Group identifies parked jobs of one flow and channel that wait for the same destination. A parked job stays in its
// lane and becomes due after its delay at the latest; the list of its group allows it to be released earlier.
type Group struct {
	Channel job.Channel
	Flow    job.Flow
	To      job.Destination
}

// String returns the name of the group in Redis.
func (g Group) String() string { return fmt.Sprintf("%d %d %s", g.Channel, g.Flow, g.To) }

func parseGroup(text string) (g Group, ok bool) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 {
		return g, false
	}
	channel, errC := strconv.ParseUint(parts[0], 10, 8)
	flow, errF := strconv.ParseUint(parts[1], 10, 16)
	g = Group{Channel: job.Channel(channel), Flow: job.Flow(flow), To: job.Destination(parts[2])}
	return g, errC == nil && errF == nil
}

// listOf returns the key of a group's list. It contains a hash of the group, and thus no text from a caller.
func (k shardKeys) listOf(g Group) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(g.String()))
	return fmt.Sprintf("%s%016x", k.the(groupKey), h.Sum64())
}

// maxGroups is the maximum number of groups of a shard listed per call. Further groups are listed once these are empty.
const maxGroups = 2000

// Groups returns the groups of a shard that have parked jobs.
func (r *Redis) Groups(ctx context.Context, shard int) ([]Group, error) {
	pipe := r.rdb.Pipeline()
	names := pipe.ZRange(ctx, keysOf(shard).the(groupsKey), 0, maxGroups-1)
	err := r.send(ctx, pipe, "list the groups of parked jobs")
	list := make([]Group, 0, len(names.Val()))
	for _, name := range names.Val() {
		if g, ok := parseGroup(name); ok {
			list = append(list, g)
		}
	}
	return list, err
}

// Unpark makes up to most parked jobs of a group due now, the one with the earliest due time first, and returns their
// number. One call reads at most 250 parked jobs.
func (r *Redis) Unpark(ctx context.Context, shard int, g Group, most int) (went int, err error) {
	k := keysOf(shard)
	keys := append([]string{k.listOf(g), k.the(groupsKey), k.bell(g.Channel)}, k.lanesAndRings(lanesOf(g.Channel)...)...)
	reply, err := r.run(ctx, "unpark", keys, []any{g.String(), most})
	return int(number(reply)), err
}
