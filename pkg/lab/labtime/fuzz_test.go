package labtime_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/labtime"
)

// The test checks that the span of a date or time never ends before it begins, in any zone.
func FuzzSpanNeverEndsBeforeItBegins(f *testing.F) {
	for _, text := range []string{"2026-11-20", "2026-11-20T10:00:00Z", "2026-03-29T02:30", "2026-11-20 10:00:00", "0000-01-01", "9999-12-31"} {
		f.Add(text, "Europe/Berlin")
		f.Add(text, "Asia/Kolkata")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		at, ok := labtime.Zone(zone)
		if !ok {
			return
		}
		begin, end, ok := labtime.Parse(text, at)
		if ok && (end.Before(begin) || end.Sub(begin) > 26*time.Hour) {
			t.Errorf("Parse(%q) in %v = %v to %v, want at most 26 hours", text, at, begin, end)
		}
	})
}
