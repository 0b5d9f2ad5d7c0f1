package metrics

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Depths reads the depths of lanes and backlogs.
type Depths interface {
	engine.Measured
	Memory(ctx context.Context) (float64, error)
}

// Measure reads the depth of every lane and of the backlogs once.
func (m *Metrics) Measure(ctx context.Context, q Depths) error {
	t, err := engine.Total(ctx, q)
	if err != nil {
		return err
	}
	memory, err := q.Memory(ctx)
	if err != nil {
		return err
	}
	receivers := 0
	for to := range t.Holds.Held {
		if _, _, is := to.Path(); is {
			receivers++
		}
	}
	m.paused.Set(float64(receivers))
	m.memory.Set(memory)
	m.pauses(t.Paused)
	m.dead.Set(float64(t.Dead))
	m.backlog.Set(float64(t.Ends))
	for _, d := range t.Lanes {
		m.lane(d)
	}
	return nil
}

// ArchiveLimit sets the gauge with the length of the archive queue above which ordinary jobs wait.
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
		_, paused := list[engine.ChannelTarget(channel)]
		m.channelHeld.WithLabelValues(channel.String()).Set(telemetry.Bool(paused))
	}
}

func pauseKinds() []string { return []string{"channel", "laboratory", "receiver"} }

func (m *Metrics) lane(d engine.Depth) {
	channel, priority := d.Lane.Channel.String(), d.Lane.Priority.String()
	m.depth.WithLabelValues(channel, priority).Set(float64(d.Waiting))
	m.ready.WithLabelValues(channel, priority).Set(float64(d.Ready))
	m.scheduled.WithLabelValues(channel, priority).Set(float64(max(0, d.Waiting-d.Ready)))
	m.age.WithLabelValues(channel, priority).Set(float64(d.OldestMs) / 1000)
	m.running.WithLabelValues(channel).Set(float64(d.Running))
}
