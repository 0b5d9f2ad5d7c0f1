package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

var config = sweep.Config{Interval: time.Minute, Settled: 3 * time.Minute, Lookback: time.Hour}

// evaluator is a fake that fails for one report.
type evaluator struct {
	sweep.Evaluator
	broken int64
	asked  []int64
}

var errBroken = errors.New("this report cannot be evaluated")

func (e *evaluator) Reports(
	ctx context.Context, scope authn.LabScope, ids []int64, event callout.Event,
) (results []evaluate.Result, failed error) {
	for _, id := range ids {
		e.asked = append(e.asked, id)
		if id == e.broken {
			failed = errBroken
			continue
		}
		some, err := e.Evaluator.Reports(ctx, scope, []int64{id}, event)
		results, failed = append(results, some...), errors.Join(failed, err)
	}
	return results, failed
}

func sweeper(t *testing.T) (*storetest.Fixture, *evaluator, func() *sweep.Sweeper) {
	t.Helper()
	t.Parallel()
	b := storetest.New(t)
	e, found := &evaluator{Evaluator: b.Evaluate}, mysql.Sweeps{Store: b.Store}
	return b, e, func() *sweep.Sweeper { return sweep.New(config, found, found, e, b.Clock, b.Count) }
}

// TestChangesDuringAnOutageAreFound stores a critical value while no process runs, for 64 hours. The first pass
// afterwards must find it.
func TestChangesDuringAnOutageAreFound(t *testing.T) {
	b, _, process := sweeper(t)
	b.Clock.Advance(5 * time.Minute)
	b.Must(process().RunOnce(t.Context()))
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.Clock.Advance(64 * time.Hour)
	b.Must(process().RunOnce(t.Context()))
	b.Want("listed", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
}

// TestAReportThatFailsDelaysNoOther checks that a report that cannot be evaluated is retried in every pass for a week
// and does not delay other reports.
func TestAReportThatFailsDelaysNoOther(t *testing.T) {
	b, e, process := sweeper(t)
	e.broken = storetest.Potassium
	entered := b.Clock.Now()
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.Clock.Advance(time.Minute)
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Clock.Advance(5 * time.Minute)
	p := process()
	for range 3 {
		if err := p.RunOnce(t.Context()); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		b.Clock.Advance(24 * time.Hour)
	}
	b.Want("listed", b.Listed(storetest.Everything), "[7002 CALLOUT_PENDING 5]")
	until, err := mysql.Sweeps{Store: b.Store}.SweptUntil(t.Context())
	b.Must(err)
	b.Want("the mark waits for it", until.After(entered), false)
	e.broken = 0
	b.Must(p.RunOnce(t.Context()))
	b.Want("listed", fmt.Sprint(b.Listed(storetest.Everything)), "[7001 CALLOUT_PENDING 7.1 7002 CALLOUT_PENDING 5]")
}

// TestARemovedValueIsFound: a value was called. Then it is deleted, because it belongs to another patient, and nothing
// else changes.
func TestARemovedValueIsFound(t *testing.T) {
	b, _, process := sweeper(t)
	b.Clock.Advance(5 * time.Minute)
	b.Enter(storetest.Potassium, storetest.PotassiumIndex, "7.9")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Exec("UPDATE labReportRelation SET updatedOn = ? WHERE id = ?", b.Clock.Now(), storetest.Potassium)
	b.Clock.Advance(5 * time.Minute)
	b.Must(process().RunOnce(t.Context()))
	b.Want("notices", b.Notices(), "[pending]")
	b.Exec("DELETE FROM reportValues WHERE labReportId_id = ?", storetest.Potassium)
	b.Clock.Advance(5 * time.Minute)
	b.Must(process().RunOnce(t.Context()))
	b.Want("notices after the removal", b.Notices(), "[pending corrected]")
}
