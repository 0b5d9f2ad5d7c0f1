package memory

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
)

func (s *Store) Settings(_ context.Context, scope authn.LabScope) (callout.Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settingsOf(scope), nil
}

func (s *Store) Administers(_ context.Context, scope authn.LabScope, labUserID int64) (bool, error) {
	return s.Administrators[labUserID] == scope.LabID(), nil
}

// lockedSettings is a transaction of a laboratory's settings.
type lockedSettings struct{ *locked }

var _ settings.Locked = (*lockedSettings)(nil)

func (s *Store) LockSettings(_ context.Context, scope authn.LabScope, work func(settings.Locked) error) error {
	return s.inTx(scope, func(l *locked) error { return work(lockedSettings{l}) })
}

func (l lockedSettings) Own() settings.Own { return l.s.own[l.scope.LabID()] }

func (l lockedSettings) Save(_ context.Context, o settings.Own) error {
	l.s.own[l.scope.LabID()] = o
	held := callout.Settings{Pace: l.s.pace, ReadBackNeeded: o.ReadBackNeeded == nil || *o.ReadBackNeeded}
	if o.EscalateMinutes != nil {
		held.After = time.Duration(*o.EscalateMinutes) * time.Minute
	}
	if o.EscalateMost != nil {
		held.Most = *o.EscalateMost
	}
	if o.RepeatWithinHours != nil {
		held.RepeatWithin = time.Duration(*o.RepeatWithinHours) * time.Hour
	}
	l.s.Decided[l.scope.LabID()] = held
	return l.step()
}
