package metrics

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Depths measures lanes; for the gauge loop.
type Depths interface {
	Depths(ctx context.Context, shard int) ([]engine.Depth, error)
	Backlog(ctx context.Context, shard int) (engine.Backlog, error)
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
	Holds(ctx context.Context) (engine.Holds, error)
	Memory(ctx context.Context) (float64, error)
}

// Measure reads the depth of every lane and the backlogs once.
func (m *Metrics) Measure(ctx context.Context, q Depths) error {
	total := map[job.Lane]engine.Depth{}
	var ended engine.Backlog
	var pauses map[engine.Target]time.Time // the same on every shard
	for shard := range job.Shards {
		list, err := q.Depths(ctx, shard)
		if err != nil {
			return err
		}
		for _, d := range list {
			sum := total[d.Lane]
			sum.Waiting += d.Waiting
			sum.Ready += d.Ready
			sum.Running += d.Running
			sum.OldestMs = max(sum.OldestMs, d.OldestMs)
			total[d.Lane] = sum
		}
		b, err := q.Backlog(ctx, shard)
		if err != nil {
			return err
		}
		ended.Dead += b.Dead
		ended.Ends += b.Ends
		if pauses, err = q.Paused(ctx, shard); err != nil {
			return err
		}
	}
	holds, err := q.Holds(ctx)
	if err != nil {
		return err
	}
	receivers := 0
	for to := range holds.Held {
		if _, _, is := to.Path(); is {
			receivers++
		}
	}
	m.paused.Set(float64(receivers))
	memory, err := q.Memory(ctx)
	if err != nil {
		return err
	}
	m.memory.Set(memory)
	m.pauses(pauses)
	m.dead.Set(float64(ended.Dead))
	m.backlog.Set(float64(ended.Ends))
	for l, d := range total {
		m.lane(l, d)
	}
	return nil
}

// ArchiveLimit tells how many ends may wait before ordinary jobs wait too.
func (m *Metrics) ArchiveLimit(jobs int) { m.endsLimit.Set(float64(jobs)) }

func (m *Metrics) pauses(list map[engine.Target]time.Time) {
	count := map[string]int{}
	for target := range list {
		count[target.Kind()]++
	}
	for _, kind := range pauseKinds() {
		m.held.WithLabelValues(kind).Set(float64(count[kind]))
	}
	for _, channel := range job.Channels() {
		paused := 0.0
		if _, is := list[engine.ChannelTarget(channel)]; is {
			paused = 1
		}
		m.channelHeld.WithLabelValues(channel.String()).Set(paused)
	}
}

func pauseKinds() []string { return []string{"channel", "laboratory", "receiver"} }

func (m *Metrics) lane(l job.Lane, d engine.Depth) {
	channel, priority := l.Channel.String(), l.Priority.String()
	m.depth.WithLabelValues(channel, priority).Set(float64(d.Waiting))
	m.ready.WithLabelValues(channel, priority).Set(float64(d.Ready))
	m.scheduled.WithLabelValues(channel, priority).Set(float64(max(0, d.Waiting-d.Ready)))
	m.age.WithLabelValues(channel, priority).Set(float64(d.OldestMs) / 1000)
	m.running.WithLabelValues(channel).Set(float64(d.Running))
}
