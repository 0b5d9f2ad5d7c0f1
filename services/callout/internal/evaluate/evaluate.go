// Package evaluate evaluates reports after a change of a value or a setting, or when a deadline has passed. Evaluation
// is idempotent.
package evaluate

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Store locks reports and applies decisions.
type Store interface {
	// Change loads the facts of reports under lock, calls decide for each, and writes the decisions, all in one
	// transaction. Ids of other laboratories are ignored. decide may be called again if the transaction is repeated.
	Change(
		ctx context.Context, scope authn.LabScope, reportIDs []int64, decide func(*callout.Facts) callout.Decision,
	) ([]callout.Decision, error)
	// OfBill returns the ids of the bill's reports, or callout.ErrNoBill if the laboratory has no such bill.
	OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error)
	// DueOfBill returns the waiting reports of the bill whose deadline or reminder is due, or that have no deadline yet.
	DueOfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error)
	// SetUnconfirmed replaces the unconfirmed rerun values of a report, unless newer ones are stored.
	SetUnconfirmed(ctx context.Context, scope authn.LabScope, v Unconfirmed) error
}

// Unconfirmed are the unconfirmed rerun values of a report.
type Unconfirmed struct {
	ReportID   int64
	AsOf       int64 // epoch microseconds; older messages are ignored
	ReceivedAt int64 // epoch microseconds, of the first value
	Readings   []callout.Reading
}

// Counters counts evaluations and escalations.
type Counters interface {
	Evaluated(reports int, c callout.Counts)
	// Escalated counts one notice about the overdue reports of a bill.
	Escalated()
}

// Signals wakes the open boards of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Deps are the dependencies of the use case. WakeRelay is called after a commit.
type Deps struct {
	Store     Store
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
	Signals   Signals
	Log       *slog.Logger
}

// Result is a report with its state after the evaluation.
type Result struct {
	ReportID int64
	Status   callout.Status
}

// UseCase evaluates reports. Its methods may be called from several goroutines.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// Bill evaluates all reports of a bill.
func (u *UseCase) Bill(ctx context.Context, scope authn.LabScope, billID int64, e callout.Event) ([]Result, error) {
	ids, err := u.d.Store.OfBill(ctx, scope, billID)
	if err != nil {
		return nil, err
	}
	return u.Reports(ctx, scope, ids, e)
}

// Due evaluates the overdue reports of a bill. It returns the level of the highest escalation sent, or 0 if none was
// due.
func (u *UseCase) Due(ctx context.Context, scope authn.LabScope, billID int64) (level int, err error) {
	ids, err := u.d.Store.DueOfBill(ctx, scope, billID)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	decisions, err := u.batch(ctx, scope, ids, callout.Event{})
	for i := range decisions {
		level = max(level, decisions[i].Escalated)
	}
	return level, err
}

// SetUnconfirmed stores the unconfirmed rerun values of a report.
func (u *UseCase) SetUnconfirmed(ctx context.Context, scope authn.LabScope, v Unconfirmed) error {
	if err := u.d.Store.SetUnconfirmed(ctx, scope, v); err != nil {
		return err
	}
	u.d.Signals.Changed(ctx, scope)
	return nil
}

// maxBatch is the maximum number of reports that Reports evaluates in one transaction.
const maxBatch = 50

// Reports evaluates reports. Unknown and dismissed reports are missing from the result. If a report cannot be
// evaluated, the others still are, and the errors are returned at the end.
func (u *UseCase) Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]Result, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	results := []Result{}
	var failed error
	for part := range slices.Chunk(slices.Compact(ids), maxBatch) {
		decisions, err := u.batch(ctx, scope, part, e)
		if err != nil && len(part) > 1 && ctx.Err() == nil {
			decisions, err = u.oneByOne(ctx, scope, part, e)
		}
		failed = errors.Join(failed, err)
		for i := range decisions {
			if d := &decisions[i]; !d.Report.Dismissed {
				results = append(results, Result{d.Report.ID, d.Status})
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return results, nil
}

func (u *UseCase) oneByOne(
	ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event,
) (all []callout.Decision, failed error) {
	for _, id := range ids {
		decisions, err := u.batch(ctx, scope, []int64{id}, e)
		failed = errors.Join(failed, err)
		all = append(all, decisions...)
	}
	return all, failed
}

// batch evaluates reports in one transaction.
func (u *UseCase) batch(
	ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event,
) ([]callout.Decision, error) {
	decisions, err := u.d.Store.Change(ctx, scope, ids, func(f *callout.Facts) callout.Decision {
		return callout.Decide(f, e, u.d.Clock.Now())
	})
	if err != nil {
		return nil, err
	}
	u.report(ctx, scope, decisions)
	return decisions, nil
}

// report updates the counters after a commit, and wakes the relay and the open boards.
func (u *UseCase) report(ctx context.Context, scope authn.LabScope, decisions []callout.Decision) {
	var counts callout.Counts
	sent, changed, escalated := false, false, false
	for i := range decisions {
		d := &decisions[i]
		counts.Add(d.Counts)
		sent = sent || len(d.Messages) > 0 || d.Wake
		changed = changed || d.Changed()
		escalated = escalated || d.Escalated > 0
		for j := range d.Unclear {
			u.d.Log.WarnContext(ctx, "value with critical limits cannot be evaluated, shown on the callout board",
				"lab_report_id", d.Report.ID, "index", d.Unclear[j].Index)
		}
		for _, id := range d.Unreadable {
			u.d.Log.WarnContext(ctx, "callout of another program cannot be read, counted as a call",
				"lab_report_id", d.Report.ID, "callout_id", id)
		}
	}
	u.d.Counters.Evaluated(len(decisions), counts)
	if escalated {
		u.d.Counters.Escalated()
	}
	if sent {
		u.d.WakeRelay()
	}
	if changed {
		u.d.Signals.Changed(ctx, scope)
	}
}
