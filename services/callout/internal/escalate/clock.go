// Package escalate owns the clock of a bill with open callouts: when it starts and ends, and what happens when its
// deadline passes. The stored row decides; a job of the task queue only wakes this service at the right moment.
package escalate

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// Clock is a bill's clock inside a transaction.
type Clock interface {
	// Escalation locks the clock of the bill and returns it; a bill without one has a closed one.
	Escalation(ctx context.Context, billID int64) (callout.Escalation, error)
	SaveEscalation(ctx context.Context, e callout.Escalation) error
	// Waiting returns the reports of the bill about which somebody has still to be told, as they are committed now and in
	// this transaction, by id.
	Waiting(ctx context.Context, billID int64) ([]callout.Report, error)
	Send(ctx context.Context, e outbox.Event) error
}

// Messages makes the messages to other services.
type Messages interface {
	// Wake asks to bring the job of the task queue in line with the bill's clock.
	Wake(labID, billID int64) (outbox.Event, error)
	// Notice tells of a critical result, or of one that is overdue.
	Notice(n Notice) (outbox.Event, error)
}

// Notice is a notification about a critical report. Level 0 is the first; key tells one notice from another.
type Notice struct {
	LabID, OrgID, ReportID, BillID int64
	Level                          int
	Key                            string
}

// Settle starts the clock of a bill that has open callouts and ends that of one without. It comes after the states of
// the reports were changed in the same transaction: who takes the clock second sees what the first one committed.
func Settle(ctx context.Context, c Clock, m Messages, billID int64, now time.Time, pace callout.Pace) error {
	e, err := c.Escalation(ctx, billID)
	if err != nil {
		return err
	}
	waiting, err := c.Waiting(ctx, billID)
	if err != nil {
		return err
	}
	next, changed := e.Close()
	if len(waiting) > 0 {
		next, changed = e.Start(now, pace)
	}
	if !changed {
		return nil
	}
	return save(ctx, c, m, next)
}

func save(ctx context.Context, c Clock, m Messages, e callout.Escalation) error {
	if err := c.SaveEscalation(ctx, e); err != nil {
		return err
	}
	wake, err := m.Wake(e.LabID, e.BillID)
	if err != nil {
		return fmt.Errorf("wake: %w", err)
	}
	return c.Send(ctx, wake)
}
