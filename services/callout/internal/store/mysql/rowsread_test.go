package mysql_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// TestSearchesDoNotReadOtherReports checks that searches for waiting or recently changed reports use the indexes of
// LegacyIndexes and do not read other reports.
func TestSearchesDoNotReadOtherReports(t *testing.T) {
	t.Parallel()
	const others = 3000
	db, clock := storetest.NewDatabase(t), storetest.NewClock()
	s, err := mysql.New(db, clock, delivery.Messages{}, storetest.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	numbers := mysqltest.Numbers(others)
	for _, statement := range []string{
		"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, updatedOn)" +
			" SELECT 100000 + seq, 12, 100000 + seq, 501, 66, '2020-01-01' FROM " + numbers,
		"INSERT INTO CriticalCallout (lab_id, lab_report_id, bill_id, created_on)" +
			" SELECT 12, 100000 + seq, 100000 + seq, '2020-01-01' FROM " + numbers,
		"INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at, closed_at, closed_by)" +
			" SELECT 12, 100000 + seq, 100000 + seq, 1, 2, 'called' FROM " + numbers,
		"ANALYZE TABLE labReportRelation", "ANALYZE TABLE CriticalCallout", "ANALYZE TABLE callout_episode",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, lab, now := t.Context(), storetest.Lab(t, 12), clock.Now()
	recently, loops := now.Add(-time.Hour), mysql.Reaps{Store: s}
	finds := map[string]func() error{}
	for _, kind := range reap.Kinds() {
		finds[kind] = func() error { _, err := loops.Find(ctx, kind, recently, 100); return err }
	}
	works := map[string]func() error{
		"the board":   func() error { _, _, err := s.Waiting(ctx, lab, callout.Visibility{}, 501); return err },
		"the figures": func() error { _, err := s.Figures(ctx, lab, callout.Visibility{}, recently, now, now); return err },
		"the history": func() error { _, err := s.Latest(ctx, lab, []int64{7001, 100001}, 0); return err },
		"the log":     func() error { _, err := s.Logs(ctx, lab, []int64{7001}, 0, 100); return err },
		"the sweeper": func() error {
			_, err := mysql.Sweeps{Store: s}.Unjudged(ctx, sweep.Report{ChangedAt: recently}, now, 100)
			return err
		},
		"changed inputs": func() error {
			_, err := mysql.Sweeps{Store: s}.Changed(ctx, recently, now, recently, 0, 100)
			return err
		},
		"upcoming":   func() error { _, err := loops.Upcoming(ctx, 0, 100); return err },
		"what waits": func() error { _, err := loops.Figures(ctx, now); return err },
		"unclear": func() error {
			_, _, err := s.Unclear(ctx, lab, callout.Visibility{}, recently, 100)
			return err
		},
		"the rest of a board": func() error { _, err := s.State(ctx, lab, callout.Visibility{}); return err },
		"a bill's deadline":   func() error { _, err := s.Deadline(ctx, lab, 400); return err },
	}
	maps.Copy(works, finds)
	for name, work := range works {
		read := mysqltest.RowsRead(t, db, func() {
			if err := work(); err != nil {
				t.Errorf("%s: got error %v, want none", name, err)
			}
		})
		if read > others/10 {
			t.Errorf("%s reads %d rows beside %d other reports, want few", name, read, others)
		}
	}
}

// TestAListReadsLittleOfOtherReports checks that a list sorts all waiting reports, but reads names, charts and limits
// only for the listed ones.
func TestAListReadsLittleOfOtherReports(t *testing.T) {
	t.Parallel()
	const more = 2000
	db, clock := storetest.NewDatabase(t), storetest.NewClock()
	s, err := mysql.New(db, clock, delivery.Messages{}, storetest.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	ctx, lab := t.Context(), storetest.Lab(t, 12)
	add := func(first string) {
		t.Helper()
		numbers := mysqltest.Numbers(more)
		for _, statement := range []string{
			"INSERT INTO userDetails (id, labId_id, gender) SELECT @first + seq, 12, 'F' FROM " + numbers,
			"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id) SELECT @first + seq, 12, @first + seq, @first + seq FROM " + numbers,
			"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, criticalValues, updatedOn)" +
				" SELECT @first + seq, 12, @first + seq, @first + seq, 66, 1, '2020-01-01' FROM " + numbers,
			"INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at) SELECT 12, 1, @first + seq, 1 FROM " + numbers,
		} {
			if _, err := db.ExecContext(ctx, strings.ReplaceAll(statement, "@first", first)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.ExecContext(ctx, "ANALYZE TABLE labReportRelation, callout_episode, billing, userDetails"); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (rows [2]int) {
		t.Helper()
		for i, work := range []func() error{
			func() error { _, _, err := s.Waiting(ctx, lab, storetest.Everything, 501); return err },
			func() error {
				_, err := s.Figures(ctx, lab, storetest.Everything, clock.Now(), clock.Now(), clock.Now())
				return err
			},
		} {
			rows[i] = mysqltest.RowsRead(t, db, func() {
				if err := work(); err != nil {
					t.Error(err)
				}
			})
		}
		return rows
	}
	add("200000")
	few := read()
	add("300000")
	many := read()
	for i, name := range []string{"the board", "the figures"} {
		each := float64(many[i]-few[i]) / more
		t.Logf("%s: %d rows read, %.1f of each report that is not shown", name, many[i], each)
		if each > 3.5 {
			t.Errorf("%s reads %.1f rows of each report that it does not show, want few", name, each)
		}
	}
}
