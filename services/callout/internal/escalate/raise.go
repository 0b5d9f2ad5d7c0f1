package escalate

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Locked is what a deadline may touch.
type Locked interface {
	Outbox
	Pace(ctx context.Context) (callout.Pace, error)
	// Due locks the waiting reports of the bill whose deadline has passed, or was never set, and returns their episodes by
	// report.
	Due(ctx context.Context, billID int64, now time.Time) ([]callout.Episode, error)
	SaveDeadline(ctx context.Context, e callout.Episode) error
	// EndGone closes the episodes of reports that were dismissed or do not exist any more, and returns their bills.
	EndGone(ctx context.Context, reportIDs []int64, now time.Time) (bills []int64, err error)
	// MarkNoticesOff notes of the waiting reports of a bill that a notice about them was swallowed.
	MarkNoticesOff(ctx context.Context, billID int64) error
	Log(ctx context.Context, e activitylog.Entry) error
}

// Store opens a transaction of a laboratory.
type Store interface {
	Begin(ctx context.Context, scope authn.LabScope, work func(Locked) error) error
}

// Counters counts escalations.
type Counters interface {
	// Escalated counts a notice about a bill; exhausted are its reports that get no other.
	Escalated(exhausted int)
	// NoticeOff counts a notice that no one got.
	NoticeOff()
}

// Signals wakes the open boards of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Deps is what the use case works with. WakeRelay is called after a commit.
type Deps struct {
	Store     Store
	Messages  Messages
	Clock     clock.Clock
	WakeRelay func()
	Counters  Counters
	Signals   Signals
}

// UseCase raises what is overdue.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d} }

// logMeta is the meta of an escalation in the activity log. is_draft, method and recipients are documented for all
// entries.
type logMeta struct {
	IsDraft    bool   `json:"is_draft"`
	Method     string `json:"method"`
	Recipients string `json:"recipients"`
	Escalation int    `json:"escalation"`
	NotSent    bool   `json:"not_sent,omitempty"`
}

// Bill raises the reports of the bill whose deadline has passed, with one notice for all of them: exactly once for each
// deadline, however often and by whomever it is called. It returns the highest level that was reached, 0 when nothing
// was due.
func (u *UseCase) Bill(ctx context.Context, scope authn.LabScope, billID int64) (level int, err error) {
	var raised []callout.Episode
	err = u.d.Store.Begin(ctx, scope, func(l Locked) error {
		raised, err = u.raise(ctx, l, scope, billID)
		return err
	})
	if err != nil || len(raised) == 0 {
		return 0, err
	}
	exhausted := 0
	for _, e := range raised {
		level = max(level, e.Level)
		if e.DueAt.IsZero() {
			exhausted++
		}
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	u.d.Counters.Escalated(exhausted)
	return level, nil
}

func (u *UseCase) raise(
	ctx context.Context, l Locked, scope authn.LabScope, billID int64,
) (raised []callout.Episode, err error) {
	now := u.d.Clock.Now()
	due, err := l.Due(ctx, billID, now)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	pace, err := l.Pace(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range due {
		if !e.Started() {
			e = e.Start(pace)
		}
		if e.Overdue(now) {
			e = e.Raise(now, pace)
			raised = append(raised, e)
		}
		if err := l.SaveDeadline(ctx, e); err != nil {
			return nil, err
		}
	}
	if err := u.tell(ctx, l, scope, billID, raised); err != nil {
		return nil, err
	}
	return raised, Wake(ctx, l, u.d.Messages, scope.LabID(), []int64{billID})
}

// tell sends one notice for the bill to the laboratory, and writes into the history of every report that no one called
// in time.
func (u *UseCase) tell(
	ctx context.Context, l Locked, scope authn.LabScope, billID int64, raised []callout.Episode,
) error {
	if len(raised) == 0 {
		return nil
	}
	most := raised[0]
	for _, e := range raised {
		if e.Level > most.Level {
			most = e
		}
	}
	event, err := u.d.Messages.Notice(Notice{
		LabID: scope.LabID(), BillID: billID, ReportID: most.ReportID, Level: most.Level,
		Key: fmt.Sprintf("escalation:%d:%d", most.ID, most.Level),
	})
	if err != nil {
		return err
	}
	if err := l.Send(ctx, event); err != nil {
		return err
	}
	for _, e := range raised {
		err := l.Log(ctx, activitylog.Entry{
			Category: activitylog.CriticalCallout, ReportID: e.ReportID, BillID: billID,
			Actor: authn.Platform, At: u.d.Clock.Now(),
			Text: fmt.Sprintf("Critical callout is overdue: escalation %d", e.Level),
			Meta: logMeta{Method: "notification", Escalation: e.Level},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// End ends the waits of reports that are dismissed or gone.
func (u *UseCase) End(ctx context.Context, scope authn.LabScope, reportIDs []int64) error {
	err := u.d.Store.Begin(ctx, scope, func(l Locked) error {
		bills, err := l.EndGone(ctx, reportIDs, u.d.Clock.Now())
		if err != nil {
			return err
		}
		return Wake(ctx, l, u.d.Messages, scope.LabID(), bills)
	})
	if err != nil {
		return err
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	return nil
}
