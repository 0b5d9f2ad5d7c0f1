package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// heldKey is the hash of destinations paused after failures or at their own request. All processes and shards share it.
const heldKey = "tq:held"

// longestHold is the maximum pause of a destination that fails repeatedly, unless the destination requests a longer
// one.
const longestHold = 3 * time.Minute

// Held is the pause of a destination, in ms of Redis's clock.
type Held struct {
	UntilMs int64 // after this, one delivery may test the destination
	SinceMs int64
}

// Holds are the current pauses of destinations.
type Holds struct {
	NowMs int64
	Held  map[job.Destination]Held
}

// Holds returns the current pauses of destinations, with Redis's time. Pauses from a wrong clock, which would begin in
// the future, are left out.
func (r *Redis) Holds(ctx context.Context) (Holds, error) {
	parts, err := r.list(ctx, "held", []string{heldKey}, nil, 2, 0)
	if err != nil {
		return Holds{}, err
	}
	marks, _ := parts[1].([]any)
	h := Holds{NowMs: number(parts[0]), Held: make(map[job.Destination]Held, len(marks)/2)}
	for p := range slices.Chunk(marks, 2) {
		until, since, _ := strings.Cut(text(p[1]), " ")
		if one := (Held{UntilMs: whole(until), SinceMs: whole(since)}); one.SinceMs <= h.NowMs {
			h.Held[job.Destination(text(p[0]))] = one
		}
	}
	return h, nil
}

func whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Hold pauses a destination for d or, if it has been failing for some time, for a quarter of that time, at most
// longestHold.
func (r *Redis) Hold(ctx context.Context, to job.Destination, d time.Duration) error {
	_, err := r.hold(ctx, to, d, false)
	return err
}

// TryHeld returns 0 if the caller may test a paused destination now; the destination then stays paused for all others
// for at least d. Otherwise it returns how long to wait.
func (r *Redis) TryHeld(ctx context.Context, to job.Destination, d time.Duration) (wait time.Duration, err error) {
	return r.hold(ctx, to, d, true)
}

func (r *Redis) hold(ctx context.Context, to job.Destination, d time.Duration, try bool) (time.Duration, error) {
	reply, err := r.run(ctx, "hold", []string{heldKey},
		[]any{string(to), d.Milliseconds(), longestHold.Milliseconds(), try})
	return time.Duration(number(reply)) * time.Millisecond, err
}

// FreeHeld ends the pause of a destination.
func (r *Redis) FreeHeld(ctx context.Context, to job.Destination) error {
	pipe := r.rdb.Pipeline()
	pipe.HDel(ctx, heldKey, string(to))
	return r.send(ctx, pipe, "free "+string(to))
}
