package search_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestTheAgeFollowsTheBirthDate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ birth, day, want string }{
		{"1990-02-11", "2026-02-10", "35 Y"},
		{"1990-02-11", "2026-02-11", "36 Y"},
		{"1996-02-29", "2026-02-28", "29 Y"},
		{"1996-02-29", "2026-03-01", "30 Y"},
		{"2025-11-24", "2026-11-23", "11 M"},
		{"2025-11-24", "2026-11-24", "1 Y"},
		{"2026-10-30", "2026-11-29", "30 D"},
		{"2026-11-24", "2026-11-24", "0 D"},
		{"2026-11-25", "2026-11-24", "written down"}, // in the future because of a typing error
		{"", "2026-11-24", "written down"},
		{"0000-00-00", "2026-11-24", "written down"},
		{"0085-03-12", "2026-11-24", ""}, // old programs store the year 85 in this way
		{"1899-12-31", "2026-11-24", ""},
	} {
		day, _ := time.Parse(time.DateOnly, c.day)
		if got := search.AgeOn(day, &search.Person{DateOfBirth: c.birth, Age: "written down"}); got != c.want {
			t.Errorf("birth %q, on %s: %q, want %q", c.birth, c.day, got, c.want)
		}
	}
}
