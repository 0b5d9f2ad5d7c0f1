package reportformat_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/reportformat"
)

func TestCollectionDayIsZeroIfUnknown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(d time.Duration) sql.NullTime { return sql.NullTime{Time: now.Add(d), Valid: true} }
	for _, c := range []struct {
		collected sql.NullTime
		zone      string
		want      string // "" is zero
	}{
		{sql.NullTime{}, "Asia/Kolkata", "2026-11-21"}, {sql.NullTime{}, "asia/kolkata", "2026-11-21"}, {sql.NullTime{}, "UTC", "2026-11-20"},
		{at(-48 * time.Hour), "Asia/Kolkata", "2026-11-19"}, {at(23 * time.Hour), "UTC", "2026-11-21"},
		{at(25 * time.Hour), "UTC", ""}, {at(36 * 365 * 24 * time.Hour), "Asia/Kolkata", ""}, // the year has a typing error
		{at(-48 * time.Hour), "IST", ""}, {at(-48 * time.Hour), "India Standard Time", ""}, {at(-48 * time.Hour), "", ""},
	} {
		got := reportformat.CollectionDay(c.collected, now, c.zone)
		if got.IsZero() != (c.want == "") || c.want != "" && got.Format(time.DateOnly) != c.want {
			t.Errorf("day of %v in %q = %v, want %q", c.collected, c.zone, got, c.want)
		}
	}
}
