package labtime_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestZoneOfFallsBackToTheDefaultWithOneWarning(t *testing.T) {
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO labs (id, labName, timezone) VALUES (1, 'a', 'europe/berlin'), (2, 'b', 'IST'), (3, 'c', '')"); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for range 2 {
		for lab, want := range map[int64]string{1: "Europe/Berlin", 2: labtime.DefaultZone, 3: labtime.DefaultZone, 4: labtime.DefaultZone} {
			scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
			if err != nil {
				t.Fatal(err)
			}
			if zone, err := labtime.ZoneOf(t.Context(), db, scope); err != nil || zone.String() != want {
				t.Errorf("zone of laboratory %d = %v, %v, want %s", lab, zone, err, want)
			}
		}
	}
	if n := strings.Count(log.String(), "unknown time zone"); n != 3 {
		t.Errorf("warnings = %d, want one for each of the laboratories 2, 3 and 4:\n%s", n, log.String())
	}
}
