// Package reach stores whether notices reach the devices of a laboratory. When they do again, results with undelivered
// notices are announced again.
package reach

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Reasons why notices do not reach any device, of which messages with Unavailable and Waits are sent later. The
// notification service has others.
const (
	Unavailable = "unavailable" // the notification service is not configured or does not accept notices
	TypeOff     = "type_off"    // the laboratory has switched off this type of notification
	Waits       = "push_waits"  // pushes cannot be sent at present; the notification service keeps them
)

// Lab is a laboratory whose devices are not reached by notices.
type Lab struct {
	ID     int64
	Reason string
}

// Missed is a notice that did not reach any device. Log is set if the notification service did not store it either.
type Missed struct {
	ReportID int64
	Key      string // key of its statement
	Notice   string // for the correction of a notice that was read: the notice's key, by which its statement is found
	Log      *activitylog.Entry
}

// Store keeps the reach of laboratories.
type Store interface {
	Unreached(ctx context.Context) ([]Lab, error)
	// SetReach stores why notices cannot be sent and since when. An empty reason means that they can be sent.
	SetReach(ctx context.Context, scope authn.LabScope, reason string, since time.Time) error
	// Silenced returns reports with a notice that the notification service did not accept, and waiting reports with a
	// notice that did not reach any device.
	Silenced(ctx context.Context, scope authn.LabScope) ([]int64, error)
	MarkSilenced(ctx context.Context, scope authn.LabScope, m Missed) error
}

// Ledgers reads the statements about reports.
type Ledgers interface {
	// Said returns the ledger of a report and its open wait, which is nil if the report does not wait.
	Said(ctx context.Context, scope authn.LabScope, reportID int64) (callout.Ledger, *callout.Episode, error)
	// EscalatedOfBill returns the waiting reports of a bill that have been escalated.
	EscalatedOfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error)
	// WaitsUnconfirmed reports whether rerun values of the report wait for confirmation.
	WaitsUnconfirmed(ctx context.Context, scope authn.LabScope, reportID int64) (bool, error)
}

// Client is the client of the notification service.
type Client interface {
	// Reach returns why notices of critical results do not reach any device of the laboratory; empty if they reach one.
	Reach(ctx context.Context, scope authn.LabScope) (reason string, err error)
}

// Evaluator evaluates reports. *evaluate.UseCase is one.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]evaluate.Result, error)
}

// Signals wakes the open boards of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Counters counts notices that were not sent.
type Counters interface{ NoticeOff() }

// Deps are the dependencies of the use case.
type Deps struct {
	Store     Store
	Ledgers   Ledgers
	Client    Client
	Evaluator Evaluator
	Signals   Signals
	Counters  Counters
	Clock     clock.Clock
}

// UseCase tracks whether notices reach laboratories.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d} }

// RunOnce queries the reach of each laboratory that notices did not reach. If notices reach devices again, or the
// laboratory has switched the type on, results with undelivered notices are announced again. A failed query changes
// nothing and is repeated in the next run.
func (u *UseCase) RunOnce(ctx context.Context) error {
	labs, err := u.d.Store.Unreached(ctx)
	for _, lab := range labs {
		err = errors.Join(err, u.check(ctx, lab))
	}
	return err
}

func (u *UseCase) check(ctx context.Context, lab Lab) error {
	scope, err := authn.Principal{Kind: authn.Service}.Scope(lab.ID)
	if err != nil {
		return err
	}
	reason, err := u.d.Client.Reach(ctx, scope)
	if err != nil || reason != "" && reason == lab.Reason {
		return nil // unknown, or the reason is already on the board
	}
	defer u.d.Signals.Changed(ctx, scope)
	if reason != "" && lab.Reason != TypeOff {
		return u.d.Store.SetReach(ctx, scope, reason, u.d.Clock.Now())
	}
	ids, err := u.d.Store.Silenced(ctx, scope)
	if err != nil {
		return err
	}
	_, err = u.d.Evaluator.Reports(ctx, scope, ids, callout.Event{NoticesBack: true})
	// Reports that could not be evaluated keep their marks and are found again in the next run.
	return errors.Join(err, u.d.Store.SetReach(ctx, scope, reason, u.d.Clock.Now()))
}

// Delivered stores the outcome of a notice. reason is why it reached no device, or empty if it did.
func (u *UseCase) Delivered(
	ctx context.Context, scope authn.LabScope, m callout.Message, reason string, sentAt time.Time,
) error {
	if err := u.d.Store.SetReach(ctx, scope, reason, sentAt); err != nil || reason == "" {
		return err
	}
	u.d.Signals.Changed(ctx, scope)
	if reason == Unavailable || reason == Waits {
		return nil // the message is kept and sent later
	}
	missed := Missed{ReportID: m.ReportID, Key: m.Key, Notice: m.Notice}
	if reason == TypeOff {
		u.d.Counters.NoticeOff()
		missed.Log = &activitylog.Entry{
			Category: activitylog.CriticalCallout, ReportID: m.ReportID, BillID: m.BillID, Actor: authn.Platform,
			At:   u.d.Clock.Now(),
			Text: "The notification was not sent: the laboratory has notifications of critical reports switched off",
			Meta: callout.LogMeta{Method: "notification", Escalation: m.Level, NotSent: true},
		}
	}
	return u.d.Store.MarkSilenced(ctx, scope, missed)
}

// ToSend reports whether a message still has to be sent. It may have become outdated in the outbox.
func (u *UseCase) ToSend(ctx context.Context, scope authn.LabScope, m callout.Message) (bool, error) {
	ledger, wait, err := u.d.Ledgers.Said(ctx, scope, m.ReportID)
	if err != nil {
		return false, err
	}
	switch m.Kind {
	case callout.Announce:
		return callout.Still(ledger, wait, m.Key), nil
	case callout.Escalate:
		return u.escalates(ctx, scope, m, callout.Still(ledger, wait, m.Key))
	case callout.Correct:
		return callout.StillWrong(ledger, m.Key, m.Audience), nil
	case callout.TellUnclear:
		return callout.StillUnclear(ledger, m.Key), nil
	case callout.TellUnconfirmed:
		return u.d.Ledgers.WaitsUnconfirmed(ctx, scope, m.ReportID)
	}
	return true, nil
}

// escalates reports whether an escalation still has to be sent. It covers all reports of the bill that were overdue
// together, so it is sent if any of them still waits.
func (u *UseCase) escalates(ctx context.Context, scope authn.LabScope, m callout.Message, itself bool) (bool, error) {
	if itself {
		return true, nil
	}
	others, err := u.d.Ledgers.EscalatedOfBill(ctx, scope, m.BillID)
	for _, id := range others {
		if id != m.ReportID {
			return true, err
		}
	}
	return false, err
}
