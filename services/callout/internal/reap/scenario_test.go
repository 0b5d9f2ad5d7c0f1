package reap_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

var errBroken = errors.New("broken")

// broken is a fake that fails to evaluate reports of laboratory 12 and to create jobs.
type broken struct {
	*evaluate.UseCase

	asked []int64 // laboratories passed to the calls
}

func (e *broken) Reports(
	ctx context.Context, scope authn.LabScope, ids []int64, event callout.Event,
) ([]evaluate.Result, error) {
	e.asked = append(e.asked, scope.LabID())
	if scope.LabID() == 12 {
		return nil, errBroken
	}
	return e.UseCase.Reports(ctx, scope, ids, event)
}

func (*broken) Ensure(context.Context, authn.LabScope, []callout.Deadline) error { return errBroken }

// following is the store of a follower: Lead does not call work.
type following struct{ reap.Store }

func (following) Lead(context.Context, func(context.Context) error) error { return nil }

func reaper(b *storetest.Fixture, s reap.Store, e reap.Evaluator, j reap.Jobs) *reap.Reaper {
	return reap.New(reap.Deps{
		Config: reap.Config{AdoptWithin: 24 * time.Hour}, Store: s, Evaluator: e, Reach: b.Reaching, Jobs: j, Clock: b.Clock,
		Log: slog.New(slog.DiscardHandler), Counters: b.Count,
	})
}

// TestAFailureDelaysNoOtherLaboratory: a report of laboratory 12 cannot be adopted, and the task queue accepts no jobs.
// The report of laboratory 13 must still be adopted, the overdue potassium of laboratory 12 is escalated, and the
// figures are set.
func TestAFailureDelaysNoOtherLaboratory(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Pending()
	b.Clock.Advance(31 * time.Minute)
	b.SetStatus(storetest.Count, callout.Pending)
	b.SetStatus(storetest.Foreign, callout.Pending)
	e := &broken{UseCase: b.Evaluate}
	if err := reaper(b, mysql.Reaps{Store: b.Store}, e, e).RunOnce(t.Context()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	b.Want("asked to adopt", e.asked, "[12 13]")
	b.Want("notices", b.Notices(), "[pending escalation]")
	b.Want("potassium", b.Due(storetest.Potassium), "level 1, due 10:00:00")
	b.Want("figures", *b.Count.Figures, "{2 1 0 31m0s}")
	b.Must(reaper(b, mysql.Reaps{Store: b.Store}, b.Evaluate, b.Jobs).RunOnce(t.Context()))
	b.Want("adopted in the end", b.Due(storetest.Count), "level 0, due 10:01:00")
}

// TestOnlyTheLeaderShowsFigures checks that a previous leader resets its gauges, because otherwise they would be
// counted twice.
func TestOnlyTheLeaderShowsFigures(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.Pending()
	b.Must(b.Reaper.RunOnce(t.Context()))
	b.Want("the leader's", *b.Count.Figures, "{1 0 0 0s}")
	b.Must(reaper(b, following{mysql.Reaps{Store: b.Store}}, b.Evaluate, b.Jobs).RunOnce(t.Context()))
	b.Want("another one's", b.Count.Figures == nil, true)
}
