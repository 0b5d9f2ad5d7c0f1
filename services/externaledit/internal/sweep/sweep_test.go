package sweep_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
)

type counts map[string]int

func (c counts) Swept(outcome string, n int) {
	if n > 0 {
		c[outcome] += n
	}
}

type quiet struct{}

func (quiet) Created()                {}
func (quiet) Refused()                {}
func (quiet) Ended(session.EndReason) {}

// failing fails to close the session of one report.
type failing struct {
	sweep.Sessions
	report int64
}

var errBoom = errors.New("boom")

func (f failing) CloseExpired(ctx context.Context, scope authn.LabScope, reportID int64) error {
	if reportID == f.report {
		return errBoom
	}
	return f.Sessions.CloseExpired(ctx, scope, reportID)
}

// A session whose report was deleted must be closed like the others. A session that cannot be closed must not stop
// them.
func TestExpiredSessionsAreClosedWhateverBecameOfTheirReports(t *testing.T) {
	t.Parallel()
	const kept, deleted, broken = 7001, 7002, 7003
	clock, scope := clocktest.New(storetest.Now), storetest.Scope(t, 12)
	store := storetest.New(t, clock)
	for _, id := range []int64{kept, deleted, broken} {
		store.AddReport(12, session.Report{ID: id})
		opened := storetest.Opened()
		opened.ReportID = id
		if err := (mysql.Editing{Store: store.Store}).Lock(t.Context(), scope, id,
			func(l editing.Locked) error { return l.Insert(t.Context(), &opened) }); err != nil {
			t.Fatal(err)
		}
	}
	store.RemoveReport(12, deleted)
	clock.Advance(2 * time.Hour)
	sessions := editing.New(editing.Deps{Reports: mysql.Editing{Store: store.Store}, Clock: clock, WakeRelay: func() {},
		Counters: quiet{}})
	got := counts{}
	sweeper := sweep.New(sweep.Deps{Config: sweep.Config{UploadAge: time.Minute}, Store: store, Clock: clock,
		Counters: got, Sessions: failing{sessions, broken}, Files: storetest.NewFiles()})
	for range 2 {
		if err := sweeper.RunOnce(t.Context()); !errors.Is(err, errBoom) {
			t.Errorf("got %v, want errBoom", err)
		}
	}
	want := counts{sweep.Closed: 1, sweep.Orphan: 1, sweep.Failed: 2}
	if !maps.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}
