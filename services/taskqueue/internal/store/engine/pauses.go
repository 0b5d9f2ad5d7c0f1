package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Target is what an operator can pause: a channel, a laboratory, or a receiver of webhooks and callbacks. The text is
// the pause's field in Redis.
type Target string

const (
	labTarget      = "lab:"
	receiverTarget = "to:"
)

// ChannelTarget returns the target for the jobs of all laboratories on a channel.
func ChannelTarget(c job.Channel) Target { return Target(c.String()) }

// LabTarget returns the target for the jobs of a laboratory on all channels.
func LabTarget(lab int64) Target { return Target(labTarget + strconv.FormatInt(lab, 10)) }

// ReceiverTarget returns the target for a receiver, given by its origin in the form used by package netguard.
func ReceiverTarget(origin string) Target { return Target(receiverTarget + origin) }

// Lab returns the laboratory of the target; ok is false if the target is not a laboratory.
func (t Target) Lab() (int64, bool) {
	text, is := strings.CutPrefix(string(t), labTarget)
	lab, err := strconv.ParseInt(text, 10, 64)
	return lab, is && err == nil
}

// Receiver returns the origin of the receiver; ok is false if the target is not a receiver.
func (t Target) Receiver() (string, bool) { return strings.CutPrefix(string(t), receiverTarget) }

// Kind returns the type of the target for display: channel, laboratory or receiver.
func (t Target) Kind() string {
	if _, is := t.Lab(); is {
		return "laboratory"
	}
	if _, is := t.Receiver(); is {
		return "receiver"
	}
	return "channel"
}

// Pause pauses a target until Resume. Every shard stores the pause, so that it can be read while other nodes do not
// respond. If storing it on one shard fails, the call can be repeated.
func (r *Redis) Pause(ctx context.Context, t Target, at time.Time) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HSetNX(ctx, keysOf(shard).the(pausedKey), string(t), at.UnixMilli())
	}
	return r.send(ctx, pipe, "pause "+string(t))
}

// Resume ends the pause of a target. It ignores a target that is not paused.
func (r *Redis) Resume(ctx context.Context, t Target) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HDel(ctx, keysOf(shard).the(pausedKey), string(t))
	}
	return r.send(ctx, pipe, "resume "+string(t))
}

// Paused returns the paused targets of a shard and the start of each pause.
func (r *Redis) Paused(ctx context.Context, shard int) (map[Target]time.Time, error) {
	pipe := r.rdb.Pipeline()
	marks := pipe.HGetAll(ctx, keysOf(shard).the(pausedKey))
	err := r.send(ctx, pipe, "read pauses")
	paused := make(map[Target]time.Time, len(marks.Val()))
	for target, ms := range marks.Val() {
		paused[Target(target)] = time.UnixMilli(whole(ms)) // a target with an unreadable time still counts as paused
	}
	return paused, err
}
