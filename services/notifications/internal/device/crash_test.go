package device_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestTheStoredTopicsCoverTheProvidersAfterACrash aborts each change of asha's token before each of its statements, and
// between a commit and its response. Afterwards, every topic at the provider is stored, every confirmed topic is at the
// provider, and whichever login subscribes next leaves exactly its topics.
func TestTheStoredTopicsCoverTheProvidersAfterACrash(t *testing.T) {
	t.Parallel()
	centre := storetest.Viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 77})
	for name, change := range map[string]func(context.Context, *device.Devices) error{
		"a hand-over": func(ctx context.Context, d *device.Devices) error {
			_, err := d.Subscribe(ctx, organization(t), device.Device{Token: "T"})
			return err
		},
		"a subscription": func(ctx context.Context, d *device.Devices) error {
			_, err := d.Subscribe(ctx, asha(t), device.Device{Token: "T"})
			return err
		},
		"a log-out": func(ctx context.Context, d *device.Devices) error {
			_, err := d.Unsubscribe(ctx, asha(t), "T")
			return err
		},
		"a login without topics": func(ctx context.Context, d *device.Devices) error { return d.Release(ctx, centre, "T") },
		"a switch":               func(ctx context.Context, d *device.Devices) error { return d.Resubscribe(ctx, asha(t)) },
	} {
		for _, next := range []struct {
			login notification.Viewer
			want  []string
		}{{asha(t), ofAsha}, {organization(t), ofOrg}} {
			c := crashes{t: t, name: name, change: change}
			c.before(next.login, next.want)
		}
	}
}

// crashes aborts a change at every statement.
type crashes struct {
	t      *testing.T
	name   string
	change func(context.Context, *device.Devices) error

	db *storetest.Database
	p  *provider
}

// before makes a login subscribe after each crash. A switched-off type is on again by then.
func (c *crashes) before(next notification.Viewer, want []string) {
	c.t.Helper()
	open := func() string {
		c.p = newProvider()
		var healthy *device.Devices
		healthy, c.db = open(c.t, c.p)
		subscribe(c.t, healthy, asha(c.t))
		if c.name == "a switch" {
			if err := switchOff(c.t, c.db); err != nil {
				c.t.Fatal(err)
			}
		}
		return c.db.DSN
	}
	run := func(pool *sql.DB) error { return c.change(c.t.Context(), over(c.db.Over(pool), c.p, c.db.Clock)) }
	crashes := crashdb.Each(c.t, open, run, func(at crashdb.Crash, _ error) {
		c.covered(at)
		c.db.Exec("DELETE FROM UserNotificationPreferences")
		subscribe(c.t, over(c.db, c.p, c.db.Clock), next)
		if got := c.p.of("T"); !slices.Equal(got, want) {
			c.t.Errorf("%s, the process %s: the provider has %v, want %v", c.name, at, got, want)
		}
	})
	if len(crashes) < 4 {
		c.t.Errorf("%s: %d crashes, want one for each statement: %v", c.name, len(crashes), crashes)
	}
}

// covered compares the stored topics with those at the provider.
func (c *crashes) covered(at crashdb.Crash) {
	c.t.Helper()
	stored := storedTopics(c.t, c.db)
	for _, topic := range stored.Confirmed {
		if !slices.Contains(c.p.of("T"), topic) {
			c.t.Errorf("%s, the process %s: %s is confirmed, want it at the provider", c.name, at, topic)
		}
	}
	for _, topic := range c.p.of("T") {
		if !slices.Contains(stored.All(), topic) {
			c.t.Errorf("%s, the process %s: the provider has %s, want it among the stored %+v", c.name, at, topic, stored)
		}
	}
}

// storedTopics returns the topics of the token, whichever login has it; none if the token was deleted.
func storedTopics(t *testing.T, db *storetest.Database) device.Lists {
	t.Helper()
	centre := storetest.Viewer(t, authn.Principal{SessionType: authn.CollectionCenter, LabID: 12, CCID: 77})
	for _, v := range []notification.Viewer{organization(t), asha(t), centre} {
		l, found, err := db.Find(t.Context(), v, "T")
		if err != nil {
			t.Fatal(err)
		}
		if found {
			return l
		}
	}
	return device.Lists{}
}
