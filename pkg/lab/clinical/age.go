package clinical

import (
	"strings"
	"time"
)

// Unit is the unit of an age limit.
type Unit byte

// The units, as the database stores them.
const (
	Days   Unit = 'D'
	Months Unit = 'M'
	Years  Unit = 'Y'
)

// Age is a completed age in one unit, at least 0.
type Age struct {
	N    int
	Unit Unit
}

// maxAge bounds N so that calendar arithmetic stays in range; no one is that many days old.
const maxAge = 100_000

func (a Age) valid() bool {
	return a.N >= 0 && a.N <= maxAge && (a.Unit == Days || a.Unit == Months || a.Unit == Years)
}

// after returns the first day on which someone born on birth has completed the age. A month that is too short
// has its completion on the first of the next one: born on 29 February means 18 on 1 March.
func (a Age) after(birth time.Time) time.Time {
	switch a.Unit {
	case Days:
		return birth.AddDate(0, 0, a.N)
	case Months:
		return addMonths(birth, a.N)
	default:
		return addMonths(birth, 12*a.N)
	}
}

func addMonths(birth time.Time, n int) time.Time {
	first := time.Date(birth.Year(), birth.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	day := first.AddDate(0, 0, birth.Day()-1)
	if day.Month() != first.Month() {
		return first.AddDate(0, 1, 0)
	}
	return day
}

// nominal is the age in 1/40,000 days, with years of 365.2425 days: only for comparing the widths of bands.
func (a Age) nominal() int64 {
	const day, month = 40_000, 1_217_475
	switch a.Unit {
	case Days:
		return int64(a.N) * day
	case Months:
		return int64(a.N) * month
	default:
		return int64(a.N) * 12 * month
	}
}

// ParseAge reads a recorded age: "36 Y", "5 M", "10 Days", "36". Anything else, "about 40" included, is not ok.
func ParseAge(s string) (Age, bool) {
	s = strings.TrimSpace(s)
	n, i := 0, 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		if n = n*10 + int(s[i]-'0'); n > maxAge {
			return Age{}, false
		}
	}
	if i == 0 {
		return Age{}, false
	}
	unit, ok := parseUnit(strings.TrimSpace(s[i:]))
	return Age{N: n, Unit: unit}, ok
}

func parseUnit(s string) (Unit, bool) {
	switch strings.ToLower(strings.TrimSuffix(s, ".")) {
	case "", "y", "yr", "yrs", "year", "years":
		return Years, true
	case "m", "mo", "mth", "mths", "month", "months":
		return Months, true
	case "d", "day", "days":
		return Days, true
	default:
		return 0, false
	}
}
