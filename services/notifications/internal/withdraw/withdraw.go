// Package withdraw withdraws notices on behalf of the service that sent them: a push message that was not yet passed to
// the task queue is not sent, and the text of a wrong notice that no receiver has read is replaced in the inbox.
package withdraw

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// Store stores withdrawals.
type Store interface {
	// Withdraw decides about the notice with the deduplication key and applies the decision, under locks of the key and
	// the notice. It may be repeated.
	Withdraw(ctx context.Context, lab authn.LabScope, key string, reason notification.Reason, now time.Time,
		decide func(Facts, notification.Reason) Decision) (Decision, error)
}

// Observer counts withdrawals.
type Observer interface {
	Withdrawn(reason notification.Reason)
}

// Signals wakes the open pages of a laboratory.
type Signals interface {
	Changed(ctx context.Context, lab authn.LabScope)
}

// Deps are the dependencies of the use case.
type Deps struct {
	Store    Store
	Clock    clock.Clock
	Observer Observer
	Signals  Signals
}

// Withdrawals withdraws notices. Its methods may be called from several goroutines.
type Withdrawals struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *Withdrawals { return &Withdrawals{d} }

// Request identifies a notice to withdraw, with the reason.
type Request struct {
	LabID          int64
	IdempotencyKey string // the key with which the notice was sent
	Reason         string
}

// Withdraw withdraws a notice and returns the answer. A repetition returns the first answer. A notice that is partly
// wrong is not changed, and the answer describes the present state. p must be a service.
func (w *Withdrawals) Withdraw(ctx context.Context, p authn.Principal, r Request) (Answer, error) {
	reason, err := notification.ParseReason(r.Reason)
	if err != nil {
		return Answer{}, err
	}
	if r.LabID <= 0 {
		return Answer{}, apperr.InvalidField("lab_id", "lab_id must be a positive integer")
	}
	if err := notify.CheckKey(r.IdempotencyKey); err != nil {
		return Answer{}, err
	}
	lab, err := p.Scope(r.LabID)
	if err != nil {
		return Answer{}, err
	}
	d, err := w.d.Store.Withdraw(ctx, lab, notify.StoredKey(r.LabID, r.IdempotencyKey), reason, w.d.Clock.Now(), Decide)
	if err != nil {
		return Answer{}, err
	}
	if d.Record || reason == notification.PartlyWrong {
		w.d.Observer.Withdrawn(reason)
	}
	if d.Reword != nil {
		w.d.Signals.Changed(ctx, lab)
	}
	return d.Answer, nil
}
