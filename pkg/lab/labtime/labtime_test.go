package labtime_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

func TestParse(t *testing.T) {
	t.Parallel()
	india := labtime.Default()
	for text, want := range map[string][2]string{
		"2026-11-20":                {"2026-11-19T18:30:00Z", "2026-11-20T18:29:59Z"},
		"2026-11-20T10:00:00":       {"2026-11-20T04:30:00Z", "2026-11-20T04:30:00Z"},
		"2026-11-20T10:00":          {"2026-11-20T04:30:00Z", "2026-11-20T04:30:00Z"},
		"2026-11-20 10:00:00":       {"2026-11-20T04:30:00Z", "2026-11-20T04:30:00Z"},
		"2026-11-20T10:00:00Z":      {"2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"},
		"2026-11-20T10:00:00+05:30": {"2026-11-20T04:30:00Z", "2026-11-20T04:30:00Z"},
		"yesterday":                 {},
		"2026-02-30":                {},
		"":                          {},
	} {
		begin, end, ok := labtime.Parse(text, india)
		if !ok && want[0] == "" {
			continue
		}
		if got := [2]string{begin.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339)}; !ok || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
}

// Unknown names must not count as UTC: the birth of a newborn could then be after the collection of its sample.
func TestZoneNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Asia/Kolkata": "Asia/Kolkata", "asia/kolkata": "Asia/Kolkata", "ASIA/KOLKATA": "Asia/Kolkata", " Asia/Kolkata ": "Asia/Kolkata",
		"america/new_york": "America/New_York", "america/port-au-prince": "America/Port-au-Prince", "africa/porto-novo": "Africa/Porto-Novo",
		"europe/isle_of_man": "Europe/Isle_of_Man", "africa/dar_es_salaam": "Africa/Dar_es_Salaam",
		"UTC": "UTC", "utc": "UTC", "gmt": "GMT", "Etc/GMT+5": "Etc/GMT+5",
	} {
		if zone, ok := labtime.Zone(name); !ok || zone.String() != want {
			t.Errorf("Zone(%q) = %v, %v, want %s", name, zone, ok, want)
		}
	}
	for _, name := range []string{
		"", " ", "IST", "ist", "India Standard Time", "Local", "local", "+05:30", "GMT+5:30", "Moon/Crater", "Kolkata", "../etc/passwd", "/etc/localtime", "Asia",
	} {
		for range 2 { // read, then cached
			if zone, ok := labtime.Zone(name); ok || zone != nil {
				t.Errorf("Zone(%q) = %v, %v, want unknown", name, zone, ok)
			}
		}
	}
}
