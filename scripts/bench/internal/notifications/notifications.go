// Package notifications measures the inbox of a laboratory with a million notifications, and triggers per second, on a
// whole stack.
package notifications

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	labID       = 900
	pages       = 200
	connections = 16
)

// Run measures inbox_page_p99_ms and list_10000_unread_ms for a user who has read nothing, inbox_page_read_p99_ms for
// one who has read all, list_10000_ms for notifications that fifty people have read, notify_per_second, and
// live_50_pages_cpu_percent.
func Run(ctx context.Context, r *report.Report) error {
	rounds, rows, triggers, live := 3, 1_000_000, 4_000, 10*time.Second
	if r.Quick {
		rounds, rows, triggers, live = 2, 100_000, 1_500, 3*time.Second
	}
	s, err := stack.Start(ctx, r, "NOTIFICATIONS_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	l, err := newLaboratory(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := insert(ctx, l.DB, rows, r.Progress); err != nil {
		return err
	}
	if err := l.read(ctx, r, rounds); err != nil {
		return err
	}
	if err := l.readAll(ctx, r, rounds); err != nil {
		return err
	}
	if err := l.live(ctx, r, s, rounds, live); err != nil {
		return err
	}
	return l.notify(ctx, r, s, rounds, triggers)
}

type laboratory struct{ *testlab.Lab }

func newLaboratory(ctx context.Context, s *sandbox.Sandbox) (*laboratory, error) {
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return nil, err
	}
	return &laboratory{lab}, lab.Apply(ctx, map[string]any{
		"mysql":    map[string]any{"labs": []any{map[string]any{"id": labID, "labName": "Bench"}}},
		"sessions": []any{testlab.User("bench", labID)},
	})
}

// insert adds rows notifications, dated over the last 28 days.
func insert(ctx context.Context, db *sql.DB, rows int, say func(string, ...any)) error {
	const step = 2_000
	newest := time.Now().Unix()
	for done := 0; done < rows; done += step {
		var args []any
		for i := range step {
			args = append(
				args,
				labID,
				45,
				2,
				`{"title":"Critical report","body":"A report has a critical result.","data":{"lrr_id":7001}}`,
				newest-int64(done+i)*28*86400/int64(rows),
			)
		}
		_, err := db.ExecContext(
			ctx,
			"INSERT INTO Notifications (lab_id, org_id, notification_type_id, message, created_at) VALUES (?,?,?,?,?)"+
				strings.Repeat(",(?,?,?,?,?)", step-1),
			args...)
		if err != nil {
			return err
		}
		if done%200_000 == 0 {
			say("%d of %d notifications are there", done, rows)
		}
	}
	return nil
}

// read measures pages of 50 over the whole inbox, and the longest list.
func (l *laboratory) read(ctx context.Context, r *report.Report, rounds int) error {
	var p99, list []float64
	for range rounds {
		var taken []time.Duration
		for page := range pages {
			start := time.Now()
			if err := l.get(ctx, fmt.Sprintf("all?limit=50&page=%d", 1+page%20), 50); err != nil {
				return err
			}
			taken = append(taken, time.Since(start))
		}
		p99 = append(p99, load.Quantile(taken, 0.99))
		start := time.Now()
		if err := l.get(ctx, "all?limit=10000", 10_000); err != nil {
			return err
		}
		list = append(list, load.Milliseconds(time.Since(start)))
		r.Progress("a page p99 %.1f ms, 10,000 rows %.0f ms", p99[len(p99)-1], list[len(list)-1])
	}
	r.Lower("inbox_page_p99_ms", "ms", p99, "", nil)
	r.Lower("list_10000_unread_ms", "ms", list, "", nil)
	return nil
}

// readAll marks everything as read by the user and the newest 10,000 as read by fifty colleagues, and measures again.
func (l *laboratory) readAll(ctx context.Context, r *report.Report, rounds int) error {
	const colleagues = 50
	for _, statement := range []string{
		"INSERT INTO NotificationReadState (notification_id, user_type, user_id, read_on) SELECT id, 'lab_user', 1, created_at FROM Notifications WHERE lab_id = ?",
		"INSERT INTO NotificationActivity (notification_id, lab_id, user_type, user_id, user_name, username, activity, activity_at)" +
			" SELECT n.id, n.lab_id, 'lab_user', 100 + u.seq, 'Asha Ranade', 'asha.ranade', 'read', n.created_at" +
			" FROM (SELECT * FROM Notifications WHERE lab_id = ? ORDER BY created_at DESC, id DESC LIMIT 10000) n JOIN (" +
			"SELECT 1 AS seq" + sequence(2, colleagues) + ") u",
		"ANALYZE TABLE Notifications, NotificationReadState, NotificationActivity",
	} {
		var args []any
		if strings.Contains(statement, "?") {
			args = append(args, labID)
		}
		if _, err := l.DB.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	var p99, list []float64
	for range rounds {
		var taken []time.Duration
		for page := range pages {
			start := time.Now()
			if err := l.get(ctx, fmt.Sprintf("all?limit=50&page=%d", 1+page%20), 50); err != nil {
				return err
			}
			taken = append(taken, time.Since(start))
		}
		p99 = append(p99, load.Quantile(taken, 0.99))
		start := time.Now()
		if err := l.get(ctx, "all?limit=10000", 10_000); err != nil {
			return err
		}
		list = append(list, load.Milliseconds(time.Since(start)))
		r.Progress("who has read all: a page p99 %.1f ms; 10,000 rows read by %d people %.0f ms", p99[len(p99)-1], colleagues, list[len(list)-1])
	}
	r.Lower("inbox_page_read_p99_ms", "ms", p99, "", nil)
	r.Lower("list_10000_ms", "ms", list, "", nil)
	return nil
}

func sequence(from, to int) string {
	var s strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&s, " UNION ALL SELECT %d", n)
	}
	return s.String()
}

func (l *laboratory) get(ctx context.Context, path string, rows int) error {
	body, err := l.Call(ctx, testlab.Request{Session: "bench", Path: "/api-v3/notifications/" + path})
	if err == nil && bytes.Count(body, []byte(`"notification_activities"`)) != rows {
		err = fmt.Errorf("%s: not %d rows: %.200s", path, rows, body)
	}
	return err
}

// notify measures triggers over a few connections; each one makes a new notification.
func (l *laboratory) notify(ctx context.Context, r *report.Report, s *sandbox.Sandbox, rounds, triggers int) error {
	var perSecond []float64
	costs := process.NewCosts(map[string]int{
		"service": s.PID("notifications"), "gateway": s.PID("gateway"), "database": s.PID("mysql"),
		"taskqueue": s.PID("taskqueue"), "redis": s.PID("redis"),
	})
	sent := 0
	before, err := l.triggered(ctx)
	if err != nil {
		return err
	}
	for range rounds {
		token, err := s.InternalToken(ctx) // valid for a minute
		if err != nil {
			return err
		}
		start := time.Now()
		if err := costs.Of(triggers, func() error {
			return l.trigger(ctx, s.Endpoints.GatewayInternal, token, sent, triggers)
		}); err != nil {
			return err
		}
		perSecond = append(perSecond, float64(triggers)/time.Since(start).Seconds())
		sent += triggers
		r.Progress("%.0f triggers a second", perSecond[len(perSecond)-1])
	}
	r.Higher("notify_per_second", "1/s", perSecond, "", nil)
	for _, name := range []string{"service", "gateway", "database", "taskqueue", "redis"} {
		r.Lower("notify_cpu_us_"+name, "µs", costs.Runs[name], "", nil)
	}
	r.Correct("triggers", sent)
	after, err := l.triggered(ctx)
	if err == nil && after-before != sent { // the correctness gate: every trigger is one notification
		err = fmt.Errorf("%d notifications of %d triggers", after-before, sent)
	}
	return err
}

func (l *laboratory) trigger(ctx context.Context, base, token string, first, count int) error {
	return load.Each(count, connections, func(i int) error { return l.triggerOne(ctx, base, token, first+i+1) })
}

func (l *laboratory) triggerOne(ctx context.Context, base, token string, reportID int) error {
	body := fmt.Sprintf(`{"lab_id":%d,"org_id":45,"lrr_id":%d}`, labID, reportID)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api-v3/notifications/fcm/2/topic/notify",
		strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("X-Is-Internal-Request", "True")
	request.Header.Set("Content-Type", "application/json")
	_, err = l.Do(request)
	return err
}

// triggered returns the number of triggers that became notifications so far.
func (l *laboratory) triggered(ctx context.Context) (n int, err error) {
	err = l.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM Notifications WHERE dedupe_key IS NOT NULL").Scan(&n)
	return n, err
}
