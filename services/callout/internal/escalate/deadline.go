// Package escalate owns what happens when the deadline of a waiting report passes, and when its wait ends by itself.
// The stored deadline decides; a job of the task queue only wakes this service at the right moment.
package escalate

import (
	"context"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/pkg/outbox"
)

// Outbox makes messages durable with a transaction.
type Outbox interface {
	Send(ctx context.Context, e outbox.Event) error
}

// Messages makes the messages to other services.
type Messages interface {
	// Wake asks to bring the job of the task queue in line with the bill's earliest deadline.
	Wake(labID, billID int64) (outbox.Event, error)
	// Notice tells of a critical result, of one that waits too long, or of one that was wrong.
	Notice(n Notice) (outbox.Event, error)
}

// Notice is a notification about a critical report. The ids of whom it concerns are 0 where there is no one. Level 0 is
// the first; Key tells one notice from another.
type Notice struct {
	LabID, OrgID, DoctorID, ReportID, BillID int64
	Level                                    int
	Corrected                                bool
	Key                                      string
}

// Wake has the jobs of bills brought in line, after the deadlines of their reports changed in the same transaction.
func Wake(ctx context.Context, o Outbox, m Messages, labID int64, bills []int64) error {
	slices.Sort(bills)
	for _, bill := range slices.Compact(bills) {
		event, err := m.Wake(labID, bill)
		if err != nil {
			return fmt.Errorf("wake: %w", err)
		}
		if err := o.Send(ctx, event); err != nil {
			return err
		}
	}
	return nil
}
