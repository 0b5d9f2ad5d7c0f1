package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardsKey holds how many shards the queue has and had: number → when a process last worked with it.
const shardsKey = "tq:shards"

const (
	// numbersAge is how old the knowledge of the number may be when a key is placed by it.
	numbersAge = 30 * time.Second
	// lateness is how long after it was last noted a number may still be used: much longer than numbersAge.
	lateness = time.Hour
	// keepMarks is longer than any client's key is kept.
	keepMarks = 25 * time.Hour
	// keepFormer is how long a former number counts: the windows of its time may wait for a year, and be moved once.
	keepFormer = 2 * 366 * 24 * time.Hour
)

// numbers is what a process knows of the number of shards.
type numbers struct {
	now    int
	former []former // the oldest, which is the smallest, first
	read   time.Time
}

type former struct {
	number int
	idle   time.Duration // since somebody worked with it
}

// Shards is the number of shards.
func (r *Redis) Shards() int { return r.numbers.Load().now }

// RefreshShards asks how many shards the queue has. It never has fewer than it had: jobs stay where they are, so a
// process that wants fewer works with all, and one that wants more makes the others work with more.
func (r *Redis) RefreshShards(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	asked := r.clock.Now()
	older, err := r.olderVersion(ctx)
	if err != nil {
		return fmt.Errorf("look for jobs of an older version: %w", err)
	}
	reply, err := r.repeat(ctx, "shards", []string{shardsKey}, []any{r.set.Shards, older})
	if err != nil {
		return err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) < 2 || len(parts)%2 != 0 {
		return errReply("shards", reply)
	}
	n := &numbers{now: int(number(parts[1])), read: asked}
	if n.now < 1 || n.now > job.MaxShards {
		return fmt.Errorf("the queue has %d shards, which this version cannot serve", n.now)
	}
	for i := 2; i < len(parts); i += 2 {
		idle := time.Duration(number(parts[0])-number(parts[i+1])) * time.Millisecond
		n.former = append(n.former, former{int(number(parts[i])), idle})
	}
	slices.SortFunc(n.former, func(a, b former) int { return a.number - b.number })
	if err := r.spreadPauses(ctx, n); err != nil {
		return err
	}
	r.numbers.Store(n)
	return nil
}

// olderVersion is the number of shards of a queue from before the number was noted: one, when it has ever run a job.
// Such a queue with several shards had other tags, whose jobs nobody would find.
func (r *Redis) olderVersion(ctx context.Context) (int, error) {
	if known := r.numbers.Load(); !known.read.IsZero() {
		return 0, nil
	}
	if noted, err := r.rdb.Exists(ctx, shardsKey).Result(); err != nil || noted > 0 {
		return 0, err
	}
	for shard := 1; shard < r.set.Shards; shard++ {
		former := fmt.Sprintf("tq:{%02d}:n", shard)
		if used, err := r.rdb.Exists(ctx, former).Result(); err != nil || used > 0 {
			return 0, errors.Join(err, fmt.Errorf("%w: let it run empty, then delete %s", ErrFormerTags, former))
		}
	}
	n, err := r.rdb.Exists(ctx, r.shards[0].counter).Result()
	return int(n), err
}

// ErrFormerTags tells that this Redis has jobs of a version whose shards had other tags.
var ErrFormerTags = errors.New("the queue has shards of a former version, whose jobs this one does not find")

// spreadPauses pauses on the shards of a growth what is paused on the first one.
func (r *Redis) spreadPauses(ctx context.Context, n *numbers) error {
	if known := r.numbers.Load(); len(n.former) == 0 || (!known.read.IsZero() && known.now == n.now) {
		return nil
	}
	marks, err := r.rdb.HGetAll(ctx, r.shards[0].paused).Result()
	if err != nil || len(marks) == 0 {
		return err
	}
	for shard := n.former[len(n.former)-1].number; shard < n.now; shard++ {
		if err := r.rdb.HSet(ctx, r.shards[shard].paused, marks).Err(); err != nil {
			return fmt.Errorf("pause channels on a new shard: %w", err)
		}
	}
	return nil
}

// onEveryShard calls do for every shard, also for those that come while it works.
func (r *Redis) onEveryShard(ctx context.Context, do func(k *shardKeys) error) error {
	for done := 0; ; {
		if err := r.RefreshShards(ctx); err != nil {
			return err
		}
		n := r.Shards()
		if n == done {
			return nil
		}
		for shard := range n {
			if err := do(&r.shards[shard]); err != nil {
				return err
			}
		}
		done = n
	}
}

// Placement makes a batch for a shard.
type Placement func(ctx context.Context, shard int) (Batch, error)

const placeTries = 10

// Place accepts the batch of a key, which names a caller's request or the owner of windows, on the shard where the key
// lives. While the queue grows, processes may not agree on that for a moment: a key that is known on the shard of a
// former number stays there for its life; one that is not leaves a mark there, which sends late ones on. So however
// many processes place a key at once, it lives in one place.
func (r *Redis) Place(ctx context.Context, key string, build Placement) (Accepted, error) {
	for range placeTries {
		n := r.numbers.Load()
		if r.clock.Now().Sub(n.read) > numbersAge {
			if err := r.RefreshShards(ctx); err != nil {
				return Accepted{}, err
			}
			n = r.numbers.Load()
		}
		accepted, err := r.place(ctx, n, key, build)
		if !errors.Is(err, errMoved) {
			return accepted, err
		}
		if err := r.RefreshShards(ctx); err != nil {
			return Accepted{}, err
		}
	}
	return Accepted{}, errMoved
}

func (r *Redis) place(ctx context.Context, n *numbers, key string, build Placement) (Accepted, error) {
	home := shardOf(key, n.now)
	for i, old := range n.former {
		shard := shardOf(key, old.number)
		if old.idle > keepFormer || shard == home || n.placesLater(key, i) {
			continue
		}
		batch, err := build(ctx, shard)
		if err != nil {
			return Accepted{}, err
		}
		here, err := r.forward(ctx, shard, n.now, old, batch)
		if err != nil {
			return Accepted{}, err
		}
		if here {
			batch.shards = formerPlace
			return r.Enqueue(ctx, batch)
		}
	}
	batch, err := build(ctx, home)
	if err != nil {
		return Accepted{}, err
	}
	batch.shards = n.now
	return r.Enqueue(ctx, batch)
}

// placesLater reports whether a later number than the i-th put the key on the same shard, where it is looked for then.
func (n *numbers) placesLater(key string, i int) bool {
	shard := shardOf(key, n.former[i].number)
	return slices.ContainsFunc(n.former[i+1:], func(f former) bool { return shardOf(key, f.number) == shard })
}

func (r *Redis) forward(ctx context.Context, shard, shards int, old former, b Batch) (here bool, err error) {
	k := &r.shards[shard]
	keys := []string{k.idem + b.IdempotencyKey}
	var lanes []string
	for i := range b.Jobs {
		if w := b.Jobs[i].Window; w != nil {
			keys = append(keys, k.windowKey+w.Key)
			lanes = append(lanes, k.lanes[b.Jobs[i].ID.Lane()])
		}
	}
	marks := int64(0)
	if old.idle < lateness {
		marks = seconds(keepMarks)
	}
	mark := ">" + strconv.Itoa(shards)
	if b.OwnKey {
		mark = ""
	}
	reply, err := r.repeat(ctx, "forward", append(keys, lanes...), []any{shards, marks, len(lanes), mark})
	if err != nil {
		return false, err
	}
	if number(reply) == 2 {
		return false, ErrWindowsApart
	}
	return number(reply) == 1, nil
}

// formerPlace stands in Batch.shards for the place of a former number.
const formerPlace = -1

// placedBy is the number as the script wants it.
func (b *Batch) placedBy() int {
	switch b.shards {
	case formerPlace:
		return 0
	case 0:
		return job.MaxShards // no mark names a larger one
	}
	return b.shards
}

func shardOf(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}
