// Package settings reads and changes a laboratory's callout settings: deadlines, escalations, reminders, read-back, and
// the repeat policy.
package settings

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

// Own are the settings that a laboratory has changed. nil means the default of the deployment.
type Own struct {
	EscalateMinutes   *int  `json:"escalate_minutes"`
	EscalateMost      *int  `json:"escalate_most"`
	ReadBackNeeded    *bool `json:"read_back_needed"`
	RepeatWithinHours *int  `json:"repeat_within_hours"`
	RemindHours       *int  `json:"remind_hours"`
}

// Upper limits of the settings.
const (
	maxMinutes     = 24 * 60
	maxEscalations = 20
	maxHours       = 7 * 24
)

// check returns an error for a setting out of its range, which would suppress escalations or flood the laboratory with
// them.
func (o Own) check() error {
	for _, n := range []struct {
		name        string
		value       *int
		least, most int
		message     string
	}{
		{"escalate_minutes", o.EscalateMinutes, 1, maxMinutes, "escalate_minutes must be 1 to 1440"},
		{"escalate_most", o.EscalateMost, 1, maxEscalations, "escalate_most must be 1 to 20"},
		{"repeat_within_hours", o.RepeatWithinHours, 0, maxHours, "repeat_within_hours must be 0 to 168; 0 turns it off"},
		{"remind_hours", o.RemindHours, 0, maxHours, "remind_hours must be 0 to 168; 0 turns reminders off"},
	} {
		if n.value != nil && (*n.value < n.least || *n.value > n.most) {
			return apperr.InvalidField(n.name, n.message)
		}
	}
	return nil
}

// Locked changes a laboratory's settings while holding the lock on their row.
type Locked interface {
	Own() Own
	Save(ctx context.Context, o Own) error
	Log(ctx context.Context, e activitylog.Entry) error
}

// Store keeps the settings.
type Store interface {
	// Settings returns the settings of the laboratory, with defaults for settings it has not changed.
	Settings(ctx context.Context, scope authn.LabScope) (callout.Settings, error)
	// LockSettings runs work in a transaction that locks the laboratory's settings.
	LockSettings(ctx context.Context, scope authn.LabScope, work func(Locked) error) error
	// WaitingReports returns the reports of the laboratory that wait for a callout or whose call was suppressed within the
	// last 14 days.
	WaitingReports(ctx context.Context, scope authn.LabScope) ([]int64, error)
	// Administers reports whether the user is an administrator of the laboratory.
	Administers(ctx context.Context, scope authn.LabScope, labUserID int64) (bool, error)
}

// Evaluator evaluates reports. *evaluate.UseCase is one.
type Evaluator interface {
	Reports(ctx context.Context, scope authn.LabScope, ids []int64, e callout.Event) ([]evaluate.Result, error)
}

// UseCase reads and writes settings. Users who are not administrators need a permission to write them.
type UseCase struct {
	store      Store
	evaluator  Evaluator
	clock      clock.Clock
	permission string
}

// New returns a use case. permission is the name of the permission that lets other users than administrators change
// settings; empty: none.
func New(s Store, e Evaluator, c clock.Clock, permission string) *UseCase {
	return &UseCase{s, e, c, permission}
}

// Get returns the settings of the laboratory, with defaults for settings it has not changed.
func (u *UseCase) Get(ctx context.Context, scope authn.LabScope) (callout.Settings, error) {
	return u.store.Settings(ctx, scope)
}

// MayChange reports whether p may change the settings of the laboratory.
func (u *UseCase) MayChange(ctx context.Context, p authn.Principal, scope authn.LabScope) (bool, error) {
	err := u.mayChange(ctx, p, scope)
	if errors.Is(err, errNotAllowed) {
		return false, nil
	}
	return err == nil, err
}

var errNotAllowed = apperr.New(
	apperr.Forbidden,
	"NOT_ALLOWED",
	"Only administrators of the laboratory, and users with their permission, change the settings of callouts; ask one of them",
)

// Put replaces the settings of the laboratory, and writes the previous and the new ones to the activity log. Waiting
// reports become due earlier if the new settings require it. If their evaluation fails here, the reaper repeats it.
func (u *UseCase) Put(
	ctx context.Context, p authn.Principal, scope authn.LabScope, o Own,
) (callout.Settings, error) {
	if err := u.mayChange(ctx, p, scope); err != nil {
		return callout.Settings{}, err
	}
	if err := o.check(); err != nil {
		return callout.Settings{}, err
	}
	err := u.store.LockSettings(ctx, scope, func(l Locked) error {
		before := l.Own()
		if err := l.Save(ctx, o); err != nil {
			return err
		}
		return l.Log(ctx, activitylog.Entry{
			Category: activitylog.CriticalCallout, Actor: p.Actor(), At: u.clock.Now(),
			Text: "Settings of critical callouts changed", Meta: activitylog.Change[Own]{Old: before, New: o},
		})
	})
	if err != nil {
		return callout.Settings{}, err
	}
	if ids, err := u.store.WaitingReports(ctx, scope); err == nil {
		_, _ = u.evaluator.Reports(ctx, scope, ids, callout.Event{})
	}
	return u.store.Settings(ctx, scope)
}

func (u *UseCase) mayChange(ctx context.Context, p authn.Principal, scope authn.LabScope) error {
	if p.IsGlobalAdmin {
		return nil
	}
	if p.SessionType != authn.LabUser {
		return errNotAllowed
	}
	if p.Has(u.permission) {
		return nil
	}
	admin, err := u.store.Administers(ctx, scope, p.LabUserID)
	if err == nil && !admin {
		err = errNotAllowed
	}
	return err
}
