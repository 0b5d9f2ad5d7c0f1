package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// after checks that a reader continues from where it was, oldest first, and only in what it may see.
func after(t *testing.T, s Store) {
	asha := user(t, 12, 77)
	organization := viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
	if p, err := s.Newest(t.Context(), asha); err != nil || p != (live.Position{}) {
		t.Fatalf("an empty inbox: %v %v", p, err)
	}
	first := add(t, s, asha.Lab, notify.New{OrgID: 45}, start)
	late := add(t, s, asha.Lab, notify.New{OrgID: 46}, start.Add(-time.Second)) // of a replica whose clock is behind
	last := add(t, s, asha.Lab, notify.New{OrgID: 45}, start)
	add(t, s, user(t, 13, 87).Lab, notify.New{OrgID: 45}, start)
	_, err := s.Mark(t.Context(), asha, last, notification.Read, start)
	must(t, err)

	for name, c := range map[string]struct {
		v     notification.Viewer
		from  live.Position
		limit int
		want  []int64
	}{
		"everything":              {asha, live.Position{}, 10, []int64{late, first, last}},
		"a page":                  {asha, live.Position{}, 2, []int64{late, first}},
		"of one second":           {asha, live.Position{CreatedAt: start.Unix()}, 10, []int64{first, last}},
		"after one of its second": {asha, live.Position{CreatedAt: start.Unix(), ID: first}, 10, []int64{last}},
		"nothing":                 {asha, live.Position{CreatedAt: start.Unix(), ID: last}, 10, nil},
		"of the organization":     {organization, live.Position{}, 10, []int64{first, last}},
	} {
		list, err := s.After(t.Context(), c.v, c.from, c.limit)
		must(t, err)
		var found []int64
		for _, n := range list {
			found = append(found, n.ID)
			if (n.ReadOn != nil) != (n.ID == last && c.v == asha) {
				t.Errorf("%s: notification %d read on %v", name, n.ID, n.ReadOn)
			}
		}
		if diff := cmp.Diff(c.want, found); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if p, err := s.Newest(
		t.Context(),
		organization,
	); err != nil ||
		p != (live.Position{CreatedAt: start.Unix(), ID: last}) {
		t.Errorf("newest %v %v", p, err)
	}
	if p, err := s.Position(
		t.Context(),
		asha,
		late,
	); err != nil ||
		p != (live.Position{CreatedAt: start.Unix() - 1, ID: late}) {
		t.Errorf("%v %v", p, err)
	}
	if _, err := s.Position(t.Context(), organization, late); !errors.Is(err, notification.ErrNotFound) {
		t.Errorf("another organization's: %v", err)
	}
}
