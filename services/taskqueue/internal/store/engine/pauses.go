package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Target is what a pause is of: a channel, a laboratory, or a receiver of webhooks and callbacks. Its text is the field
// of the mark in Redis.
type Target string

const (
	labTarget      = "lab:"
	receiverTarget = "to:"
)

// ChannelTarget is a channel with the jobs of all laboratories.
func ChannelTarget(c job.Channel) Target { return Target(c.String()) }

// LabTarget is a laboratory with its jobs of all channels.
func LabTarget(lab int64) Target { return Target(labTarget + strconv.FormatInt(lab, 10)) }

// ReceiverTarget is a receiver by its origin, as netguard writes it.
func ReceiverTarget(origin string) Target { return Target(receiverTarget + origin) }

// Lab is the laboratory of a target.
func (t Target) Lab() (int64, bool) {
	text, is := strings.CutPrefix(string(t), labTarget)
	lab, err := strconv.ParseInt(text, 10, 64)
	return lab, is && err == nil
}

// Receiver is the origin of a target.
func (t Target) Receiver() (string, bool) { return strings.CutPrefix(string(t), receiverTarget) }

// Kind is the word for what the target is: channel, laboratory or receiver.
func (t Target) Kind() string {
	if _, is := t.Lab(); is {
		return "laboratory"
	}
	if _, is := t.Receiver(); is {
		return "receiver"
	}
	return "channel"
}

// Pause pauses a target until Resume. Every shard has a mark of its own, so that a claim asks no other node; when
// one cannot be set, a repeat sets the others again.
func (r *Redis) Pause(ctx context.Context, t Target, at time.Time) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HSetNX(ctx, keysOf(shard).the(pausedKey), string(t), at.UnixMilli())
	}
	return r.send(ctx, pipe, "pause "+string(t))
}

// Resume ends the pause of a target.
func (r *Redis) Resume(ctx context.Context, t Target) error {
	pipe := r.rdb.Pipeline()
	for shard := range job.Shards {
		pipe.HDel(ctx, keysOf(shard).the(pausedKey), string(t))
	}
	return r.send(ctx, pipe, "resume "+string(t))
}

// Paused tells since when the paused targets of a shard are.
func (r *Redis) Paused(ctx context.Context, shard int) (map[Target]time.Time, error) {
	pipe := r.rdb.Pipeline()
	marks := pipe.HGetAll(ctx, keysOf(shard).the(pausedKey))
	err := r.send(ctx, pipe, "read pauses")
	paused := make(map[Target]time.Time, len(marks.Val()))
	for target, ms := range marks.Val() {
		paused[Target(target)] = time.UnixMilli(whole(ms)) // a mark is a mark, whatever its time says
	}
	return paused, err
}
