package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// metrics implements the observers of the use cases. Every series exists from the start.
type metrics struct {
	notified, marked, swept *prometheus.CounterVec
	watching                prometheus.Gauge
}

var (
	_ inbox.Observer  = (*metrics)(nil)
	_ live.Gauge      = (*metrics)(nil)
	_ notify.Observer = (*metrics)(nil)
	_ sweep.Counters  = (*metrics)(nil)
)

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		notified: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "notifications_triggers_total",
			Help: "Triggers of other services, by the outcome of them.",
		}, []string{"outcome"}),
		marked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "notifications_marked_total", Help: "Notifications that people marked."}, []string{"action"}),
		swept: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "notifications_idle_devices_total",
			Help: "Devices that were not seen for long, by the outcome of them.",
		}, []string{"outcome"}),
		watching: prometheus.NewGauge(
			prometheus.GaugeOpts{Name: "notifications_event_streams", Help: "Open streams of notifications."},
		),
	}
	for _, c := range []prometheus.Collector{m.notified, m.marked, m.swept, m.watching} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, outcome := range notify.Outcomes() {
		m.notified.WithLabelValues(string(outcome))
	}
	for _, outcome := range sweep.Outcomes() {
		m.swept.WithLabelValues(string(outcome))
	}
	m.Marked(notification.Read, 0)
	m.Marked(notification.Unread, 0)
	return m, nil
}

func (m *metrics) Notified(outcome notify.Outcome) { m.notified.WithLabelValues(string(outcome)).Inc() }

func (m *metrics) Marked(a notification.Action, n int) {
	m.marked.WithLabelValues(string(a)).Add(float64(n))
}

func (m *metrics) Swept(outcome sweep.Outcome) { m.swept.WithLabelValues(string(outcome)).Inc() }

func (m *metrics) Watching(change int) { m.watching.Add(float64(change)) }
