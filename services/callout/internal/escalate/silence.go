package escalate

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// Silence makes it visible that a notice reached no one.
type Silence struct {
	Store    Store
	Clock    clock.Clock
	Counters Counters
	Signals  Signals
}

// NoticeOff writes into the history that no one was told, and shows it on the board.
func (s Silence) NoticeOff(ctx context.Context, scope authn.LabScope, n Notice) error {
	err := s.Store.Begin(ctx, scope, func(l Locked) error {
		if err := l.MarkNoticesOff(ctx, n.BillID); err != nil {
			return err
		}
		return l.Log(ctx, activitylog.Entry{
			Category: activitylog.CriticalCallout, ReportID: n.ReportID, BillID: n.BillID,
			Actor: authn.Platform, At: s.Clock.Now(),
			Text: "The notification was not sent: the laboratory has notifications of critical reports switched off",
			Meta: logMeta{Method: "notification", Escalation: n.Level, NotSent: true},
		})
	})
	if err != nil {
		return err
	}
	s.Counters.NoticeOff()
	s.Signals.Changed(ctx, scope)
	return nil
}
