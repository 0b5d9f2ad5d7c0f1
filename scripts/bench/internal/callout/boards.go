package callout

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	waiting      = 3_000
	openBoards   = 50
	openPolls    = 30 // requests per second
	changes      = 10
	changeEvery  = 500 * time.Millisecond
	firstWaiting = 9_200_000
)

// busyBoard measures the open list at 30 requests per second, and the CPU of fifty open boards while drafts change the
// list.
func (l *laboratory) busyBoard(ctx context.Context, r *report.Report, s *sandbox.Sandbox, rounds int) error {
	if err := l.fill(ctx); err != nil {
		return err
	}
	var p99, p50 []float64
	for range rounds {
		taken, err := load.Paced(5*openPolls, openPolls, func(int) error { return l.open(ctx) })
		if err != nil {
			return err
		}
		p50, p99 = append(p50, load.Quantile(taken, 0.5)), append(p99, load.Quantile(taken, 0.99))
	}
	r.Lower("open_p99_ms", "ms", p99, "", nil)
	r.Lower("open_p50_ms", "ms", p50, "", nil)
	costs := process.NewCosts(map[string]int{
		"service": s.PID("callout"), "gateway": s.PID("gateway"), "database": s.PID("mysql"),
	})
	for round := range rounds {
		if err := costs.Of(1, func() error { return l.boards(ctx, round) }); err != nil {
			return err
		}
	}
	for _, name := range []string{"service", "gateway", "database"} {
		used := make([]float64, rounds)
		for i, us := range costs.Runs[name] {
			used[i] = us / float64((changes * changeEvery).Microseconds()) * 100
		}
		r.Lower("boards_50_cpu_percent_"+name, "%", used, "", nil)
	}
	r.Correct("board_changes_seen", openBoards*changes*rounds)
	return nil
}

// fill adds bills with one waiting report each, due in some hours.
func (l *laboratory) fill(ctx context.Context) error {
	filled := strings.NewReplacer(
		"@lab", strconv.Itoa(labID), "@due", strconv.FormatInt(time.Now().Add(6*time.Hour).UnixMilli(), 10),
		"@numbers", fmt.Sprintf("seq_%d_to_%d", firstWaiting, firstWaiting+waiting-1),
	)
	for _, statement := range []string{
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id) SELECT seq, @lab, seq, @lab FROM @numbers",
		"INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at, due_at) SELECT @lab, seq, seq, @due - seq, @due FROM @numbers",
		"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleCollected, criticalValues)" +
			" SELECT seq, @lab, seq, @lab, 9100, 1, 1 FROM @numbers",
		"INSERT INTO reportValues (labReportId_id, `index`, `order`, parameter_name, value) SELECT seq, 1, 1, 'Parameter 1', '40' FROM @numbers",
	} {
		if _, err := l.DB.ExecContext(ctx, filled.Replace(statement)); err != nil {
			return err
		}
	}
	return nil
}

func (l *laboratory) open(ctx context.Context) error {
	text, err := l.Call(ctx, testlab.Request{Session: "bench-callout", Path: "/operation/critical-callout/open"})
	if err == nil && strings.Count(string(text), `"lab_report_id"`) != 500 {
		err = fmt.Errorf("the open list has %d reports: %.200s", strings.Count(string(text), `"lab_report_id"`), text)
	}
	return err
}

// boards opens fifty boards, saves drafts for reports that they show, and waits until each board shows all drafts.
func (l *laboratory) boards(ctx context.Context, round int) error {
	want := (round + 1) * changes
	hear := func(int) func(event, data string) bool {
		return func(event, data string) bool {
			return event == "worklist" && strings.Count(data, `"CALLOUT_ATTEMPTED"`) == want
		}
	}
	return l.FollowAll(ctx, openBoards, "/operation/critical-callout/live", boardOf, hear, func() error {
		_, err := load.Paced(changes, float64(time.Second)/float64(changeEvery), func(i int) error {
			// The list begins with the reports that were found critical first: those with the highest numbers.
			id := firstWaiting + waiting - 1 - (round*changes + i)
			_, err := l.Call(ctx, testlab.Request{
				Session: "bench-callout", Method: http.MethodPost, Path: fmt.Sprintf("/report/%d/critical/callout", id),
				Body: fmt.Sprintf(`{"is_draft":true,"lab_report_ids":[%d],"recipients":["Organization"],"communication_methods":["email"]}`, id),
			})
			return err
		})
		return err
	})
}
