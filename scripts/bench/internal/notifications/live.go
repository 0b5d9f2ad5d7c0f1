package notifications

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	openPages      = 50
	livePerSecond  = 5
	firstLiveUser  = 1_000
	firstLiveEvent = 50_000_000 // report ids of triggers, which no other round uses
)

// pageOf returns the session of an open page. Every page belongs to another user.
func pageOf(i int) string { return fmt.Sprint("bench-live-", i) }

// live measures the CPU of fifty open pages while five notifications per second arrive. Each page must receive each of
// them.
func (l *laboratory) live(
	ctx context.Context,
	r *report.Report,
	s *sandbox.Sandbox,
	rounds int,
	length time.Duration,
) error {
	var sessions []any
	for i := range openPages {
		user := testlab.User(pageOf(i), labID)
		user["lab_user_id"] = firstLiveUser + i
		sessions = append(sessions, user)
	}
	if err := l.Apply(ctx, map[string]any{"sessions": sessions}); err != nil {
		return err
	}
	count := int(length.Seconds()) * livePerSecond
	costs := process.NewCosts(map[string]int{
		"service": s.PID("notifications"), "gateway": s.PID("gateway"), "database": s.PID("mysql"),
	})
	for round := range rounds + 1 { // in the first round each page counts a month of unread notifications
		token, err := s.InternalToken(ctx)
		if err != nil {
			return err
		}
		first := firstLiveEvent + round*count
		err = costs.Of(1, func() error {
			hear := func(int) func(event, data string) bool {
				heard := 0
				return func(event, _ string) bool {
					if event == "notification" {
						heard++
					}
					return heard >= count
				}
			}
			return l.FollowAll(ctx, openPages, "/api-v3/notifications/live", pageOf, hear, func() error {
				_, err := load.Paced(count, livePerSecond, func(i int) error {
					return l.triggerOne(ctx, s.Endpoints.GatewayInternal, token, first+i)
				})
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	together := make([]float64, rounds)
	for i := range together {
		together[i] = percent(costs.Runs["service"][i+1]+costs.Runs["gateway"][i+1], length)
	}
	r.Lower("live_50_pages_cpu_percent", "%", together, "", nil)
	var database []float64
	for _, used := range costs.Runs["database"][1:] {
		database = append(database, percent(used, length))
	}
	r.Lower("live_50_pages_database_cpu_percent", "%", database, "", nil)
	r.Correct("live_notifications_seen", openPages*count*(rounds+1))
	return nil
}

// percent converts CPU microseconds over a duration into per cent of one core.
func percent(used float64, length time.Duration) float64 {
	return used / float64(length.Microseconds()) * 100
}
