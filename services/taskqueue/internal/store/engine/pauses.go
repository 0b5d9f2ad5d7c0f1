package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Target is what an operator pauses: a channel, a laboratory, or a receiver of webhooks and callbacks. The text is the
// field of the pause in Redis.
type Target string

const (
	labTarget      = "lab:"
	receiverTarget = "to:"
)

// ChannelTarget returns the target for the jobs of all laboratories on a channel.
func ChannelTarget(c job.Channel) Target { return Target(c.String()) }

// LabTarget returns the target for the jobs of a laboratory on all channels.
func LabTarget(lab int64) Target { return Target(labTarget + strconv.FormatInt(lab, 10)) }

// ReceiverTarget returns the target for a receiver, given by its origin in the form of package netguard.
func ReceiverTarget(origin string) Target { return Target(receiverTarget + origin) }

// Lab returns the laboratory of the target; false when the target is none.
func (t Target) Lab() (int64, bool) {
	text, is := strings.CutPrefix(string(t), labTarget)
	lab, err := strconv.ParseInt(text, 10, 64)
	return lab, is && err == nil
}

// Receiver returns the origin of the receiver; false when the target is none.
func (t Target) Receiver() (string, bool) { return strings.CutPrefix(string(t), receiverTarget) }

// Kind returns the type of the target for operators: channel, laboratory or receiver.
func (t Target) Kind() string {
	if _, is := t.Lab(); is {
		return "laboratory"
	}
	if _, is := t.Receiver(); is {
		return "receiver"
	}
	return "channel"
}

// Pause pauses a target until Resume. Every shard stores the pause, so that a claim needs no other node. When storing
// it in one shard fails, the call can be repeated.
func (r *Redis) Pause(ctx context.Context, t Target, at time.Time) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HSetNX(ctx, keysOf(shard).the(pausedKey), string(t), at.UnixMilli())
	}
	return r.send(ctx, pipe, "pause "+string(t))
}

// Resume ends the pause of a target. A target that is not paused is ignored.
func (r *Redis) Resume(ctx context.Context, t Target) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HDel(ctx, keysOf(shard).the(pausedKey), string(t))
	}
	return r.send(ctx, pipe, "resume "+string(t))
}

// Paused returns the paused targets of a shard and when each was paused.
func (r *Redis) Paused(ctx context.Context, shard int) (map[Target]time.Time, error) {
	pipe := r.rdb.Pipeline()
	marks := pipe.HGetAll(ctx, keysOf(shard).the(pausedKey))
	err := r.send(ctx, pipe, "read pauses")
	paused := make(map[Target]time.Time, len(marks.Val()))
	for target, ms := range marks.Val() {
		paused[Target(target)] = time.UnixMilli(whole(ms)) // a target with an unreadable time is paused all the same
	}
	return paused, err
}
