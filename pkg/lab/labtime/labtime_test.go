package labtime_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

func TestParse(t *testing.T) {
	t.Parallel()
	india := labtime.Zone("Asia/Kolkata")
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
	if labtime.Zone("Moon/Crater") != time.UTC {
		t.Error("Zone of an unknown name is not UTC")
	}
}
