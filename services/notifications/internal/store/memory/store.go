// Package memory keeps the state of notifications in maps, for tests of the use cases. It passes the suite of
// storetest.
package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
)

// User is a lab user of the platform.
type User struct {
	LabID int64
	Admin bool
}

type stored struct {
	id, lab, created int64
	notify.New
}

type reader struct {
	notification int64
	kind         string
	id           int64
}

type labSwitch struct{ lab, typeID int64 }

type loginSwitch struct {
	lab    int64
	kind   string
	id     int64
	typeID int64
}

func loginSwitchOf(v notification.Viewer, typeID int64) loginSwitch {
	kind, id := v.Login()
	return loginSwitch{v.Lab.LabID(), kind, id, typeID}
}

// Store is safe for concurrent use.
type Store struct {
	Types []notification.Kind // the platform's, in their order
	Users map[int64]User

	mu         sync.Mutex
	list       []stored // guarded by mu, like all below
	read       map[reader]*int64
	activities []labActivity
	labs       map[labSwitch]bool
	logins     map[loginSwitch]bool
	devices    map[string]owned
	claimed    int64 // devices so far
	events     []outbox.Event
}

var (
	_ device.Store = (*Store)(nil)
	_ inbox.Store  = (*Store)(nil)
	_ live.Store   = (*Store)(nil)
	_ notify.Store = (*Store)(nil)
	_ sweep.Store  = (*Store)(nil)
)

type labActivity struct {
	lab int64
	notification.Activity
}

// New returns a store with the two types of the interface document.
func New() *Store {
	return &Store{
		Types: []notification.Kind{
			{
				ID:            1,
				Category:      "report",
				Name:          "organisation_report_ready",
				UserCategory:  "org",
				DefaultParams: []byte(`{"title":"Report ready"}`),
			},
			{
				ID:            2,
				Category:      "report",
				Name:          "critical_report",
				UserCategory:  "org",
				DefaultParams: []byte(`{"title":"Critical report"}`),
			},
		},
		Users: map[int64]User{77: {LabID: 12}, 79: {LabID: 12, Admin: true}, 87: {LabID: 13}},
		read:  map[reader]*int64{}, labs: map[labSwitch]bool{}, logins: map[loginSwitch]bool{}, devices: map[string]owned{},
	}
}

// Events returns the messages in the outbox.
func (s *Store) Events() []outbox.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

func (*Store) Zone(context.Context, authn.LabScope) (*time.Location, error) { return time.UTC, nil }

func sees(v notification.Viewer, n stored) bool {
	if n.lab != v.Lab.LabID() {
		return false
	}
	switch v.Audience {
	case notification.WholeLab:
		return true
	case notification.OneOrganization:
		return n.OrgID == v.ID
	case notification.OneDoctor:
		return n.DoctorID == v.ID
	case notification.OneUser:
		return n.LabUserID == v.ID
	default:
		return false
	}
}

// visible returns what the viewer sees of the window, newest first.
func (s *Store) visible(v notification.Viewer, w notification.Window) []stored {
	var list []stored
	for _, n := range s.list {
		if sees(v, n) && w.From <= n.created && n.created <= w.To {
			list = append(list, n)
		}
	}
	slices.SortFunc(
		list,
		func(a, b stored) int { return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(b.id, a.id)) },
	)
	return list
}

func readerOf(v notification.Viewer, id int64) reader {
	kind, login := v.Login()
	return reader{id, kind, login}
}

func (s *Store) readOn(v notification.Viewer, id int64) *int64 {
	return s.read[readerOf(v, id)]
}

func (s *Store) List(
	_ context.Context,
	v notification.Viewer,
	w notification.Window,
	p inbox.Page,
) ([]notification.Notification, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.visible(v, w)
	all = all[min(p.Offset, len(all)):]
	var list []notification.Notification
	for _, n := range all[:min(p.Limit, len(all))] {
		list = append(list, s.shown(v, n))
	}
	return list, nil
}

func (s *Store) Unread(_ context.Context, v notification.Viewer, w notification.Window, most int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.visible(v, w) {
		if s.readOn(v, one.id) == nil {
			n++
		}
	}
	return int64(min(n, most)), nil
}

func (s *Store) ActivitiesOf(
	_ context.Context, lab authn.LabScope, ids []int64, most int,
) (map[int64][]notification.Activity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int64][]notification.Activity{}
	for _, a := range s.activities {
		if a.lab == lab.LabID() && slices.Contains(ids, a.NotificationID) {
			list := append(found[a.NotificationID], a.Activity)
			found[a.NotificationID] = list[max(0, len(list)-most):]
		}
	}
	return found, nil
}

func (s *Store) Activities(
	_ context.Context,
	v notification.Viewer,
	w notification.Window,
	limit int,
) ([]notification.Activity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []notification.Activity
	for _, a := range slices.Backward(s.activities) {
		seen := slices.ContainsFunc(s.list, func(n stored) bool { return n.id == a.NotificationID && sees(v, n) })
		if seen && w.From <= a.At && a.At <= w.To && len(list) < limit {
			list = append(list, a.Activity)
		}
	}
	return list, nil
}

func (s *Store) Mark(
	_ context.Context, v notification.Viewer, id int64, a notification.Action, now time.Time,
) (*int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.list, func(n stored) bool { return n.id == id && sees(v, n) }) {
		return nil, notification.ErrNotFound
	}
	return s.mark(v, id, a, now), nil
}

func (s *Store) mark(v notification.Viewer, id int64, a notification.Action, now time.Time) *int64 {
	at, before := readerOf(v, id), s.readOn(v, id)
	if (before != nil) == (a == notification.Read) {
		return before
	}
	delete(s.read, at)
	if a == notification.Read {
		seconds := now.Unix()
		s.read[at] = &seconds
	}
	s.activities = append(
		s.activities,
		labActivity{v.Lab.LabID(), notification.Activity{ID: int64(len(s.activities) + 1), NotificationID: id,
			Activity: string(a), UserID: v.ID, UserName: v.Name, Username: v.Username, At: now.Unix()}},
	)
	return s.read[at]
}

func (s *Store) MarkRead(
	_ context.Context,
	v notification.Viewer,
	w notification.Window,
	limit int,
	now time.Time,
) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, one := range s.visible(v, w) {
		if n < limit && s.readOn(v, one.id) == nil {
			s.mark(v, one.id, notification.Read, now)
			n++
		}
	}
	return n, nil
}

func (s *Store) Add(
	_ context.Context, lab authn.LabScope, n notify.New, push func(id int64) (outbox.Event, error), now time.Time,
) (int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if n.DedupeKey != "" && one.DedupeKey == n.DedupeKey {
			return one.id, false, nil
		}
	}
	id := int64(len(s.list) + 1)
	event, err := push(id)
	if err != nil {
		return 0, false, err
	}
	s.list = append(s.list, stored{id, lab.LabID(), now.Unix(), n})
	s.events = append(s.events, event)
	return id, true, nil
}
