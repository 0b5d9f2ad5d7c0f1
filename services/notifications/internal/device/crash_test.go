package device_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

// TestTheStoredTopicsCoverTheProvidersAfterACrash kills the process that hands a token over, before each of its
// statements and between a commit and its response. Every topic at the provider is stored, every confirmed topic is at
// the provider, and subscribing again leaves exactly the wanted topics.
func TestTheStoredTopicsCoverTheProvidersAfterACrash(t *testing.T) {
	t.Parallel()
	var db *storetest.Database
	var p *provider
	open := func() string {
		p = newProvider()
		var healthy *device.Devices
		healthy, db = open(t, p)
		subscribe(t, healthy, asha(t))
		return db.DSN
	}
	run := func(pool *sql.DB) error {
		d := over(db.Over(pool), p, db.Clock)
		_, err := d.Subscribe(t.Context(), organization(t), device.Device{Token: "T"})
		return err
	}
	crashes := crashdb.Each(t, open, run, func(c crashdb.Crash, _ error) {
		stored := storedTopics(t, db)
		for _, topic := range stored.Confirmed {
			if !slices.Contains(p.of("T"), topic) && !slices.Contains(ofAsha, topic) {
				t.Errorf("the process %s: %s is confirmed, want it at the provider", c, topic)
			}
		}
		for _, topic := range p.of("T") {
			if !slices.Contains(stored.All(), topic) {
				t.Errorf("the process %s: the provider has %s, want it among the stored %+v", c, topic, stored)
			}
		}
		subscribe(t, over(db, p, db.Clock), organization(t))
		expect(t, p.of("T"), ofOrg)
	})
	expect(t, p.of("T"), ofOrg)
	if len(crashes) < 8 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}

// storedTopics returns the topics of the token, which is asha's until the hand-over.
func storedTopics(t *testing.T, db *storetest.Database) device.Lists {
	t.Helper()
	l, found, err := db.Find(t.Context(), organization(t), "T")
	if err == nil && !found {
		l, found, err = db.Find(t.Context(), asha(t), "T")
	}
	if err != nil || !found {
		t.Fatalf("the token is found: %v, %v; want true", found, err)
	}
	return l
}
