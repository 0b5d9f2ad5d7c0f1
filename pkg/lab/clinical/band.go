package clinical

import (
	"math"
	"strings"
	"time"
)

// Band is one reference with the patients that it is for: gender 'M', 'F' or 'A' (any), and ages from From
// (inclusive) to To (exclusive; nil is without end).
type Band struct {
	Gender    byte
	From      Age
	To        *Age
	Reference Reference
	Display   string // the range as it is printed
}

// Patient is who the sample was taken from. The zero value is someone of whom nothing is known.
type Patient struct {
	Gender      string    // as recorded; the first letter counts
	BirthDate   time.Time // zero: unknown; only year, month and day count
	RecordedAge string    // "36 Y"; used when the birth date is unknown
	SampledOn   time.Time // the day of collection in the laboratory's time zone
}

// Select returns the band that applies: one for the patient's gender before one for all, then the narrowest,
// then the first. ok is false when none applies. A patient of unknown age gets only bands without age limits.
func Select(bands []Band, p Patient) (band *Band, ok bool) {
	gender := genderOf(p.Gender)
	on := day(p.SampledOn)
	birth, known := birthOf(p, on)
	for i := range bands {
		b := &bands[i]
		if b.Gender != 'A' && b.Gender != gender {
			continue
		}
		if !b.admits(birth, on, known) {
			continue
		}
		if band == nil || b.better(band) {
			band = b
		}
	}
	return band, band != nil
}

// GenderLetter is 'M' or 'F' when bands for that gender may apply to the patient, 0 when only bands for all do.
func (p Patient) GenderLetter() byte { return genderOf(p.Gender) }

// genderOf takes the first letter; other than M and F match only bands for all.
func genderOf(s string) byte {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	switch c := s[0] &^ 0x20; c {
	case 'M', 'F':
		return c
	default:
		return 0
	}
}

func day(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// birthOf returns the date of birth, or the latest one that agrees with the recorded age.
func birthOf(p Patient, on time.Time) (time.Time, bool) {
	if !p.BirthDate.IsZero() {
		birth := day(p.BirthDate)
		return birth, !birth.After(on)
	}
	age, ok := ParseAge(p.RecordedAge)
	if !ok || p.SampledOn.IsZero() {
		return time.Time{}, false
	}
	return age.before(on), true
}

// before returns the latest date of birth with which the age is completed on the given day.
func (a Age) before(on time.Time) time.Time {
	switch a.Unit {
	case Days:
		return on.AddDate(0, 0, -a.N)
	case Months:
		return subtractMonths(on, a.N)
	default:
		return subtractMonths(on, 12*a.N)
	}
}

func subtractMonths(on time.Time, n int) time.Time {
	first := time.Date(on.Year(), on.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	day := first.AddDate(0, 0, on.Day()-1)
	if day.Month() != first.Month() {
		return first.AddDate(0, 1, -1)
	}
	return day
}

func (b *Band) admits(birth, on time.Time, known bool) bool {
	if b.From.N == 0 && b.To == nil {
		return true
	}
	if !known || !b.From.valid() || b.To != nil && !b.To.valid() {
		return false
	}
	if on.Before(b.From.after(birth)) {
		return false
	}
	return b.To == nil || on.Before(b.To.after(birth))
}

func (b *Band) better(other *Band) bool {
	if (b.Gender == 'A') != (other.Gender == 'A') {
		return other.Gender == 'A'
	}
	return b.width() < other.width()
}

func (b *Band) width() int64 {
	if b.To == nil {
		return math.MaxInt64 - b.From.nominal() // of two open bands the one that begins later is narrower
	}
	return b.To.nominal() - b.From.nominal()
}
