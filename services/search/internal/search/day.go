package search

import (
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// Layouts of dates, as stored and as people write them: with the day first, or with the month as a name.
var (
	longDates = []string{
		"2006-1-2", "2-1-2006", "2-Jan-2006", "2-January-2006", "2Jan2006", "Jan-2-2006", "January-2-2006",
	}
	shortDates = []string{"2-1-06", "2-Jan-06", "2-January-06", "2Jan06"}
)

// daysOf returns the date in a word as YYYY-MM-DD, or nil if it is not a date. A two-digit year gives two dates, one
// per century; a date in the future matches no patient.
func daysOf(word string) []string {
	dashed := strings.NewReplacer("/", "-", ".", "-").Replace(word)
	if day, ok := parseDay(dashed, longDates); ok {
		return []string{day.Format(time.DateOnly)}
	}
	day, ok := parseDay(dashed, shortDates)
	if !ok {
		return nil
	}
	century := 100
	if day.Year() >= 2000 {
		century = -century
	}
	other := day.AddDate(century, 0, 0)
	days := []string{day.Format(time.DateOnly)}
	if other.Day() == day.Day() { // February 29 does not exist in every century
		days = append(days, other.Format(time.DateOnly))
	}
	slices.Sort(days)
	return days
}

// dayOfDigits parses a date without separators. The digits may be a telephone number instead.
func dayOfDigits(digits string) (string, bool) {
	day, ok := parseDay(digits, []string{"02012006", "20060102"})
	return day.Format(time.DateOnly), ok && isYear(day.Format("2006"))
}

func parseDay(word string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if day, err := time.Parse(layout, word); err == nil {
			return day, true
		}
	}
	return time.Time{}, false
}

// AgeOn returns the age of a patient on a day, formatted as by clinical.AgeText.
func AgeOn(day time.Time, p *Person) string {
	birth, _ := time.Parse(time.DateOnly, p.DateOfBirth) // the zero time if unknown
	return clinical.AgeText(day, birth, p.Age)
}
