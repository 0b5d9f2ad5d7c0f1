package reconcile_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// crowd is a fake laboratory whose first patients have no document.
type crowd struct {
	*world
	patients, missing int64
}

func (c crowd) Rows(_ context.Context, s authn.LabScope, after int64, limit int) (rows []projection.Row, err error) {
	for id := max(after+1, 1); id <= c.patients && len(rows) < limit && s.LabID() == 7; id++ {
		rows = append(rows, projection.Row{UserID: id, LabID: 7, Rev: 5})
	}
	return rows, nil
}

func (c crowd) RowsByID(_ context.Context, ids []int64) (rows []projection.Row, err error) {
	for _, id := range ids {
		if id <= c.patients {
			rows = append(rows, projection.Row{UserID: id, LabID: 7, Rev: 5})
		}
	}
	return rows, nil
}

func (c crowd) document(id int64) document.Entry {
	row := projection.Row{UserID: id, LabID: 7, Rev: 5}
	return document.Entry{UserID: id, Route: 7, LabID: 7, Version: 11, Source: document.NewEncoder().Document(&row)}
}

// crowdIndex is the index of a crowd. It has documents of all other patients.
type crowdIndex struct {
	fromIndex
	crowd crowd
}

func (crowdIndex) Laboratories(context.Context, string) ([]int64, error) { return []int64{7}, nil }

func (c crowdIndex) Scan(context.Context, string, int64) iter.Seq2[document.Entry, error] {
	return func(yield func(document.Entry, error) bool) {
		for id := c.crowd.missing + 1; id <= max(c.crowd.patients, 100); id++ {
			if !yield(c.crowd.document(id), nil) {
				return
			}
		}
	}
}

func (c crowdIndex) Find(_ context.Context, _ string, asked []document.Entry) (found []document.Entry, err error) {
	for _, e := range asked {
		if e.UserID > c.crowd.missing {
			found = append(found, c.crowd.document(e.UserID))
		}
	}
	return found, nil
}

// TestTheLoopRepairsFewAndHoldsBeforeMany checks that the unattended loop leaves more differences than lost events can
// cause to an operator.
func TestTheLoopRepairsFewAndHoldsBeforeMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what              string
		patients, missing int64
		indexed, late     bool
		repaired, held    bool
	}{
		{"some events were lost", 2000, 100, true, false, true, false},
		{"one more than one in twenty", 2000, 101, true, false, false, true},
		{"as many, while events are late", 2000, 101, true, true, false, false},
		{"half of a small laboratory", 100, 50, true, true, true, false},
		{"more of it", 100, 51, true, false, false, true},
		{"an empty database behind the same name", 0, 0, true, false, false, true},
		{"the phase is not running, or a walk is under way", 2000, 1, false, false, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				all := crowd{w, c.patients, c.missing}
				r := reconcile.New(reconcile.Deps{Rows: all, Scope: mysql.Laboratory, Documents: crowdIndex{fromIndex{w}, all}, Users: w, Writer: w,
					Target: "user_details", Config: reconcile.DefaultConfig()})
				loop := &reconcile.Loop{Reconciler: r, Observer: w, Cursor: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
					Indexed: func(context.Context) (bool, error) { return c.indexed, nil },
					Late:    func(context.Context) (bool, error) { return c.late, nil }}
				if err := loop.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				if repaired := len(w.deleted)+len(w.targets) > 0; repaired != c.repaired {
					t.Errorf("%d operations, %d rows computed", len(w.deleted), len(w.targets))
				}
				if held := slices.Equal(w.held, []int64{7}); held != c.held {
					t.Error(fmt.Sprint("held: ", w.held))
				}
			})
		})
	}
}

func TestAHeldLaboratoryIsOneLineOfTheLogAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		all := crowd{w, 100, 51}
		r := reconcile.New(reconcile.Deps{Rows: all, Scope: mysql.Laboratory, Documents: crowdIndex{fromIndex{w}, all}, Users: w, Writer: w,
			Target: "user_details", Config: reconcile.DefaultConfig()})
		var log strings.Builder
		loop := &reconcile.Loop{Reconciler: r, Observer: w, Cursor: w, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Indexed: always, Late: func(context.Context) (bool, error) { return false, nil }}
		for range 4 * 60 {
			if err := loop.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		lines := strings.Count(log.String(), "lab_id=7 patients=100")
		if lines < 3 || lines > 5 || len(w.held) < 100 {
			t.Errorf("%d lines in four hours and %d counts, want one an hour and each look counted:\n%s", lines, len(w.held), log.String())
		}
	})
}
