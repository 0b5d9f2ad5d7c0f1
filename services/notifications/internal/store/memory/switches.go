package memory

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// owned is a device with whom it belongs to.
type owned struct {
	lab  int64
	kind string
	id   int64
	seq  int64
	last time.Time
	device.Device
}

func (o owned) of(v notification.Viewer) bool {
	kind, id := v.Login()
	return o.lab == v.Lab.LabID() && o.kind == kind && o.id == id
}

func (s *Store) Kinds(_ context.Context, lab authn.LabScope) ([]notification.Kind, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := slices.Clone(s.Types)
	for i := range kinds {
		kinds[i].Disabled = !kinds[i].Mandatory && s.labs[labSwitch{lab.LabID(), kinds[i].ID}]
	}
	return kinds, nil
}

func (s *Store) Kind(ctx context.Context, lab authn.LabScope, typeID int64) (notification.Kind, error) {
	kinds, _ := s.Kinds(ctx, lab)
	for _, k := range kinds {
		if k.ID == typeID {
			return k, nil
		}
	}
	return notification.Kind{}, notification.ErrNoType
}

func (s *Store) SetKinds(
	_ context.Context,
	lab authn.LabScope,
	switches []notification.Switch,
	_ int64,
	_ time.Time,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range switches {
		s.labs[labSwitch{lab.LabID(), one.TypeID}] = one.Disabled
	}
	return nil
}

func (s *Store) User(_ context.Context, lab authn.LabScope, userID int64) (exists, admin bool, err error) {
	u, ok := s.Users[userID]
	ok = ok && u.LabID == lab.LabID()
	return ok, ok && u.Admin, nil
}

func (s *Store) Preferences(ctx context.Context, v notification.Viewer) ([]notification.Preference, error) {
	kinds, _ := s.Kinds(ctx, v.Lab)
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []notification.Preference
	for _, k := range kinds {
		if k.Disabled {
			continue
		}
		p := notification.Preference{Kind: k}
		if off, ok := s.logins[loginSwitchOf(v, k.ID)]; ok {
			p.UserDisabled = &off
		}
		list = append(list, p)
	}
	return list, nil
}

func (s *Store) SetPreferences(
	_ context.Context, v notification.Viewer, switches []notification.Switch, after outbox.Event, _ time.Time,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range switches {
		s.logins[loginSwitchOf(v, one.TypeID)] = one.Disabled
	}
	s.events = append(s.events, after)
	return nil
}

func (s *Store) Claim(_ context.Context, v notification.Viewer, d device.Device, now time.Time) (device.Lists, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.devices[d.Token]
	if !known {
		s.claimed++
		before.seq = s.claimed
	}
	d.Lists = before.Lists
	d.Generation++
	kind, id := v.Login()
	s.devices[d.Token] = owned{v.Lab.LabID(), kind, id, before.seq, now, d}
	return d.Lists, nil
}

func (s *Store) SaveTopics(
	_ context.Context,
	v notification.Viewer,
	token string,
	l device.Lists,
	now time.Time,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.devices[token]
	if !ok || !d.of(v) || d.Generation != l.Generation {
		return device.ErrMoved
	}
	d.Lists = device.Lists{
		Confirmed: slices.Clone(l.Confirmed), Pending: slices.Clone(l.Pending), Generation: l.Generation + 1,
	}
	d.last = now
	s.devices[token] = d
	return nil
}

func (s *Store) Find(_ context.Context, v notification.Viewer, token string) (device.Lists, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.devices[token]
	if !ok || !d.of(v) {
		return device.Lists{}, false, nil
	}
	return d.Lists, true, nil
}

func (s *Store) Undo(
	_ context.Context, v notification.Viewer, token string, done device.Done, undo func(gone, missing []string) error,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.devices[token]
	if !ok {
		s.claimed++
		lists := device.Lists{Pending: done.Added}
		d = owned{lab: v.Lab.LabID(), seq: s.claimed, Device: device.Device{Token: token, Lists: lists}}
	}
	if d.kind == "" {
		s.devices[token] = d
		if undo(d.All(), nil) == nil {
			delete(s.devices, token)
		}
		return nil
	}
	gone, missing := distinct.Without(done.Added, d.All()), done.Missing(d.Lists)
	if undo(gone, missing) == nil {
		return nil
	}
	topics := append(gone, missing...)
	d.Confirmed = distinct.Without(d.Confirmed, topics)
	d.Pending = append(distinct.Without(d.Pending, topics), topics...)
	d.Generation++
	s.devices[token] = d
	return nil
}

func (s *Store) Forget(_ context.Context, v notification.Viewer, token string, generation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.devices[token]; !ok || !d.of(v) || d.Generation != generation {
		return device.ErrMoved
	}
	delete(s.devices, token)
	return nil
}

func (s *Store) Drop(_ context.Context, v notification.Viewer, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices[token].of(v) {
		delete(s.devices, token)
	}
	return nil
}

func (s *Store) OfLogin(_ context.Context, v notification.Viewer) ([]device.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []device.Device
	for _, d := range s.devices {
		if d.of(v) {
			list = append(list, d.Device)
		}
	}
	slices.SortFunc(list, func(a, b device.Device) int {
		if a.Token < b.Token {
			return -1
		}
		return 1
	})
	return list, nil
}

func (s *Store) Wanted(ctx context.Context, v notification.Viewer) ([]notification.Kind, error) {
	preferences, _ := s.Preferences(ctx, v)
	var kinds []notification.Kind
	for _, p := range preferences {
		if !p.Effective() {
			kinds = append(kinds, p.Kind)
		}
	}
	return kinds, nil
}
