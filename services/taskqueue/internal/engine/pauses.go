package engine

import (
	"context"
	"fmt"
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

// Pause leaves a target alone until Resume. Every shard has a mark of its own, so that a claim asks no other node; when
// one cannot be set, a repeat sets the others again.
func (r *Redis) Pause(ctx context.Context, t Target, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for i := range r.shards {
		if err := r.rdb.HSetNX(ctx, r.shards[i].paused, string(t), at.UnixMilli()).Err(); err != nil {
			return fmt.Errorf("pause %s: %w", t, err)
		}
	}
	return nil
}

// Resume ends the pause of a target.
func (r *Redis) Resume(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for i := range r.shards {
		if err := r.rdb.HDel(ctx, r.shards[i].paused, string(t)).Err(); err != nil {
			return fmt.Errorf("resume %s: %w", t, err)
		}
	}
	return nil
}

// Paused tells since when the paused targets of a shard are.
func (r *Redis) Paused(ctx context.Context, shard int) (map[Target]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	marks, err := r.rdb.HGetAll(ctx, r.shards[shard].paused).Result()
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	paused := make(map[Target]time.Time, len(marks))
	for target, text := range marks {
		ms, _ := strconv.ParseInt(text, 10, 64) // a mark is a mark, whatever its time says
		paused[Target(target)] = time.UnixMilli(ms)
	}
	return paused, nil
}
