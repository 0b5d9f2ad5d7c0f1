package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

func (*Store) Lead(ctx context.Context, work func(context.Context) error) error { return work(ctx) }

func (s *Store) Idle(_ context.Context, before time.Time, after sweep.Position, limit int) ([]sweep.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []sweep.Device
	for _, d := range s.devices {
		one := sweep.Device{Position: sweep.Position{LastActivity: d.last, ID: d.seq}, LabID: d.lab, Token: d.Token}
		if d.last.Before(before) && compare(one.Position, after) > 0 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b sweep.Device) int { return compare(a.Position, b.Position) })
	return list[:min(limit, len(list))], nil
}

func compare(a, b sweep.Position) int {
	return cmp.Or(a.LastActivity.Compare(b.LastActivity), cmp.Compare(a.ID, b.ID))
}

func (s *Store) Suspect(_ context.Context, lab authn.LabScope, token string, before time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, idle := s.idle(lab, token, before)
	if idle {
		d.Lists = device.Lists{Pending: d.All(), Generation: d.Generation + 1}
		s.devices[token] = d
	}
	return idle, nil
}

func (s *Store) Retire(
	_ context.Context,
	lab authn.LabScope,
	token string,
	before time.Time,
	unsubscribe func([]string) error,
) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, idle := s.idle(lab, token, before)
	if !idle {
		return false, nil
	}
	if err := unsubscribe(d.All()); err != nil {
		return false, err
	}
	delete(s.devices, token)
	return true, nil
}

func (s *Store) idle(lab authn.LabScope, token string, before time.Time) (owned, bool) {
	d, found := s.devices[token]
	return d, found && d.lab == lab.LabID() && d.last.Before(before)
}
