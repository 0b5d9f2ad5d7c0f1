package mysql_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

func TestAReaderContinuesAfterItsPosition(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.Open(t), t.Context()
	asha := user(t, 12, 77)
	organization := viewer(t, authn.Principal{SessionType: authn.Organization, LabID: 12, OrgID: 45})
	if p, err := s.Newest(ctx, asha); err != nil || p != (live.Position{}) {
		t.Fatalf("newest of an empty inbox: %v, %v; want the zero position", p, err)
	}
	first := s.Put(asha.Lab, notify.New{OrgID: 45}, start)
	late := s.Put(asha.Lab, notify.New{OrgID: 46}, start.Add(-time.Second)) // from a replica whose clock is behind
	last := s.Put(asha.Lab, notify.New{OrgID: 45}, start)
	s.Put(user(t, 13, 87).Lab, notify.New{OrgID: 45}, start)
	_, err := s.Mark(ctx, asha, last, notification.Read, start)
	must(t, err)

	now := start.Unix()
	for name, c := range map[string]struct {
		v     notification.Viewer
		from  live.Position
		limit int
		want  []int64
	}{
		"from the beginning":            {asha, live.Position{}, 10, []int64{late, first, last}},
		"a page":                        {asha, live.Position{}, 2, []int64{late, first}},
		"from a second":                 {asha, live.Position{CreatedAt: now}, 10, []int64{first, last}},
		"within a second":               {asha, live.Position{CreatedAt: now, ID: first}, 10, []int64{last}},
		"after the newest":              {asha, live.Position{CreatedAt: now, ID: last}, 10, nil},
		"what the organization may see": {organization, live.Position{}, 10, []int64{first, last}},
	} {
		list, err := s.After(ctx, c.v, c.from, c.limit)
		must(t, err)
		var got []int64
		for _, n := range list {
			got = append(got, n.ID)
			if want := n.ID == last && c.v == asha; (n.ReadOn != nil) != want {
				t.Errorf("%s: notification %d read %v, want %v", name, n.ID, n.ReadOn != nil, want)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if p, err := s.Newest(ctx, organization); err != nil || p != (live.Position{CreatedAt: now, ID: last}) {
		t.Errorf("newest of the organization: %v, %v; want %d", p, err, last)
	}
	if p, err := s.Position(ctx, asha, late); err != nil || p != (live.Position{CreatedAt: now - 1, ID: late}) {
		t.Errorf("position of %d: %v, %v; want one second before the others", late, p, err)
	}
	if _, err := s.Position(ctx, organization, late); !errors.Is(err, notification.ErrNotFound) {
		t.Errorf("position of another organization's notification: %v, want ErrNotFound", err)
	}
}
