package clinical

import (
	"strconv"
	"strings"
	"time"
)

// Unit is the unit of an age limit.
type Unit byte

// The units as stored in the database.
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

// maxAge limits N, so that calendar arithmetic cannot overflow; it is about 273 years in days.
const maxAge = 100_000

func (a Age) valid() bool {
	return a.N >= 0 && a.N <= maxAge && (a.Unit == Days || a.Unit == Months || a.Unit == Years)
}

// after returns the first day on which a person with this birth date has completed the age. If the month is too short,
// that is the first day of the next month: with a birth date of 29 February, 18 years are completed on 1 March.
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

// nominal returns the age in 1/40,000 days, with years of 365.2425 days. It is only for comparing the widths of bands.
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

// ParseAge parses a recorded age such as "36 Y", "5 M", "10 Days" or "36". ok is false for anything else, such as
// "about 40".
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

// firstBirthYear is the first year of plausible birth dates. Old programs stored an earlier date when they could not
// parse one, so no age is derived from it.
const firstBirthYear = 1900

// AgeText returns the age on a day: in years ("36 Y"), below one year in months ("7 M"), below one month in days ("12
// D"). If the birth date is the zero time or after the day, it returns written, the recorded age; for a birth date
// before 1900 it returns "".
func AgeText(day, birth time.Time, written string) string {
	switch {
	case birth.IsZero() || birth.After(day):
		return written
	case birth.Year() < firstBirthYear:
		return ""
	}
	months := (day.Year()-birth.Year())*12 + int(day.Month()-birth.Month())
	if day.Day() < birth.Day() {
		months--
	}
	switch {
	case months >= 12:
		return strconv.Itoa(months/12) + " Y"
	case months >= 1:
		return strconv.Itoa(months) + " M"
	}
	return strconv.Itoa(int(day.Sub(birth).Hours())/24) + " D"
}
