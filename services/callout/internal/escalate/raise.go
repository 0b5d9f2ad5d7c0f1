package escalate

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Locked is what a deadline may touch.
type Locked interface {
	Clock
	Pace(ctx context.Context) (callout.Pace, error)
	Log(ctx context.Context, e activitylog.Entry) error
}

// Store opens a transaction of a laboratory.
type Store interface {
	Begin(ctx context.Context, scope authn.LabScope, work func(Locked) error) error
}

// Counters counts escalations.
type Counters interface {
	Escalated(level int)
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
}

// Bill raises the bill's open callouts if their deadline has passed: exactly once for each deadline, however often and
// by whomever it is called. It returns the level that was reached, 0 when nothing was due.
func (u *UseCase) Bill(ctx context.Context, scope authn.LabScope, billID int64) (level int, err error) {
	err = u.d.Store.Begin(ctx, scope, func(l Locked) error {
		level, err = u.raise(ctx, l, billID)
		return err
	})
	if err != nil || level == 0 {
		return 0, err
	}
	u.d.WakeRelay()
	u.d.Signals.Changed(ctx, scope)
	u.d.Counters.Escalated(level)
	return level, nil
}

func (u *UseCase) raise(ctx context.Context, l Locked, billID int64) (level int, err error) {
	e, err := l.Escalation(ctx, billID)
	now := u.d.Clock.Now()
	if err != nil || !e.Overdue(now) {
		return 0, err
	}
	waiting, err := l.Waiting(ctx, billID)
	if err != nil {
		return 0, err
	}
	if len(waiting) == 0 {
		closed, _ := e.Close()
		return 0, save(ctx, l, u.d.Messages, closed)
	}
	pace, err := l.Pace(ctx)
	if err != nil {
		return 0, err
	}
	next := e.Raise(now, pace)
	if err := u.tell(ctx, l, next, waiting); err != nil {
		return 0, err
	}
	return next.Level, save(ctx, l, u.d.Messages, next)
}

// tell sends one notice for the bill, and writes into the history of every report that nobody called in time.
func (u *UseCase) tell(ctx context.Context, l Locked, e callout.Escalation, waiting []callout.Report) error {
	first := waiting[0]
	n := Notice{
		LabID: e.LabID, BillID: e.BillID, ReportID: first.ID, Level: e.Level,
		Key: fmt.Sprintf("escalation:%d:%d:%d", e.BillID, e.StartedAt.UnixMilli(), e.Level),
	}
	if first.OrgID != nil {
		n.OrgID = *first.OrgID
	}
	event, err := u.d.Messages.Notice(n)
	if err != nil {
		return err
	}
	if err := l.Send(ctx, event); err != nil {
		return err
	}
	for _, r := range waiting {
		err := l.Log(ctx, activitylog.Entry{
			Category: activitylog.CriticalCallout,
			ReportID: r.ID,
			BillID:   e.BillID,
			Actor:    authn.Platform,
			At:       u.d.Clock.Now(),
			Text: fmt.Sprintf(
				"Critical callout is overdue: escalation %d",
				e.Level,
			),
			Meta: logMeta{Method: "notification", Escalation: e.Level},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Settle starts or ends the clock of a bill by what is stored now.
func (u *UseCase) Settle(ctx context.Context, scope authn.LabScope, billID int64) error {
	return u.d.Store.Begin(ctx, scope, func(l Locked) error {
		pace, err := l.Pace(ctx)
		if err != nil {
			return err
		}
		return Settle(ctx, l, u.d.Messages, billID, u.d.Clock.Now(), pace)
	})
}
