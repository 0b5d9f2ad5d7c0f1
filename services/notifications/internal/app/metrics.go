package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/rename"
	"github.com/labplatform/labplatform/services/notifications/internal/served"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

// metrics holds the Prometheus metrics that the use cases and loops update.
type metrics struct {
	notified, marked, swept, stopped, withdrawn, evicted *prometheus.CounterVec

	watching, behind prometheus.Gauge
	unserved         *prometheus.GaugeVec
	note             func(text string) // shows a text about push messages on /health
}

var (
	_ delivery.Observer = (*metrics)(nil)
	_ device.Observer   = (*metrics)(nil)
	_ inbox.Observer    = (*metrics)(nil)
	_ livefeed.Gauge    = (*metrics)(nil)
	_ notify.Observer   = (*metrics)(nil)
	_ rename.Gauge      = (*metrics)(nil)
	_ served.Observer   = (*metrics)(nil)
	_ sweep.Counters    = (*metrics)(nil)
	_ withdraw.Observer = (*metrics)(nil)
)

func newMetrics(registry prometheus.Registerer, health *httpserver.Health) *metrics {
	m := telemetry.NewMetrics(registry)
	return &metrics{
		note: func(text string) { health.Note("push", text) },
		unserved: m.Gauges("notifications_push_unserved",
			"1 while no push message goes out for this reason, else 0.", telemetry.By("reason", served.Reasons()...)),
		notified: m.Counters("notifications_triggers_total", "Accepted triggers of other services, by outcome.",
			telemetry.By("outcome", notify.Outcomes()...)),
		marked: m.Counters("notifications_marked_total", "Marks of notifications by users, by action; repeated single marks included.",
			telemetry.By("action", notification.Read, notification.Unread)),
		swept: m.Counters("notifications_idle_devices_total", "Devices not seen for long, by outcome of their removal.",
			telemetry.By("outcome", sweep.Outcomes()...)),
		evicted: m.Counters("notifications_devices_evicted_total",
			"Devices given up because their login has newer ones, by outcome.", telemetry.By("outcome", device.Evictions()...)),
		stopped: m.Counters("notifications_pushes_stopped_total",
			"Pushes that were not handed to the task queue, because the notice was withdrawn, its type switched off or its report"+
				" no longer ready.",
			telemetry.By("reason", notify.Stops()...)),
		withdrawn: m.Counters("notifications_withdrawals_total", "Withdrawals by other services, by reason; also of notices that do not exist.",
			telemetry.By("reason", notification.Called, notification.Wrong, notification.PartlyWrong)),
		watching: m.Gauge("notifications_event_streams", "Open streams of notifications."),
		behind: m.Gauge("notifications_devices_with_older_topics",
			"Devices that lack a topic's current name or have an older one, after the last walk over all devices; -1 before the"+
				" first one and in processes that do not lead."),
	}
}

func (m *metrics) Notified(outcome notify.Outcome) { m.notified.WithLabelValues(string(outcome)).Inc() }

func (m *metrics) Marked(a notification.Action, n int) {
	m.marked.WithLabelValues(string(a)).Add(float64(n))
}

func (m *metrics) Stopped(reason notify.Stop) { m.stopped.WithLabelValues(string(reason)).Inc() }

func (m *metrics) Withdrawn(reason notification.Reason) {
	m.withdrawn.WithLabelValues(string(reason)).Inc()
}

func (m *metrics) Swept(outcome sweep.Outcome) { m.swept.WithLabelValues(string(outcome)).Inc() }

func (m *metrics) Watching(change int) { m.watching.Add(float64(change)) }

func (m *metrics) Behind(n int) { m.behind.Set(float64(n)) }

func (m *metrics) Note(text string) { m.note(text) }

func (m *metrics) PushUnserved(reason served.Reason) {
	for _, r := range served.Reasons() {
		m.unserved.WithLabelValues(string(r)).Set(telemetry.Bool(r == reason))
	}
}

func (m *metrics) Evicted(outcome device.Eviction) {
	m.evicted.WithLabelValues(string(outcome)).Inc()
}
