package clinical

import (
	"math"
	"strings"
	"time"
)

// Band is one reference and the patients that it applies to: gender 'M', 'F' or 'A' (any), and ages from From
// (inclusive) to To (exclusive; nil means no upper limit).
type Band struct {
	Gender    byte
	From      Age
	To        *Age
	Reference Reference
	Display   string // the range as printed on reports
}

// Patient describes the person whose sample was taken. The zero value stands for an unknown person.
type Patient struct {
	Gender      string    // as recorded; the first letter is used
	BirthDate   time.Time // zero if unknown; only year, month and day are used
	RecordedAge string    // such as "36 Y"; used if the birth date is unknown
	SampledOn   time.Time // the day of collection in the laboratory's time zone
}

// Select returns the band that applies to the patient. A band for the patient's gender is preferred to one for all,
// then the narrowest band, then the first. ok is false if no band applies. For a patient of unknown age only bands
// without age limits apply.
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

// GenderLetter returns 'M' or 'F', and 0 for any other or unknown gender, to which only bands for all genders apply.
func (p Patient) GenderLetter() byte { return genderOf(p.Gender) }

// genderOf returns the first letter if it is M or F, otherwise 0.
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

// birthOf returns the date of birth, or the latest date that is consistent with the recorded age. ok is false if
// neither is known.
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

// before returns the latest date of birth of a person who has completed the age on the given day.
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
		return math.MaxInt64 - b.From.nominal() // of two bands without upper limit, the one that starts later is narrower
	}
	return b.To.nominal() - b.From.nominal()
}
