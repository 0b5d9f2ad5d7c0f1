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
	Gender      string    // as recorded: the first letter decides M and F, a whole word a third gender
	BirthDate   time.Time // zero if unknown; only year, month and day are used
	RecordedAge string    // such as "36 Y"; used if the birth date is unknown
	// SampledOn is the day of collection in the laboratory's time zone. It is zero if the time or the zone is unknown; the
	// patient's age is then unknown too.
	SampledOn time.Time
}

// Select returns the band that applies to the patient. A band for the patient's gender is preferred to one for all,
// then the narrowest band, then the first. ok is false if no band applies, and if it is unknown which one does:
//   - the age is unknown, or not known precisely enough, and there are bands with age limits for the gender, also
//     beside a band for all ages;
//   - the gender is unknown, and the bands for men and women do not agree.
//
// A person of a third gender is compared with the bands for all genders.
func Select(bands []Band, p Patient) (band *Band, ok bool) {
	born, on := birthOf(p), day(p.SampledOn)
	if gender := genderOf(p.Gender); gender != unknownGender {
		return selectFor(bands, gender, born, on)
	}
	man, ok := selectFor(bands, 'M', born, on)
	if !ok {
		return nil, false
	}
	woman, ok := selectFor(bands, 'F', born, on)
	if !ok || man == woman {
		return woman, ok
	}
	if anyone, ok := selectFor(bands, thirdGender, born, on); ok {
		// The normal range is the laboratory's range for all genders; ok if the critical limits agree.
		return anyone, anyone.Reference.sameCritical(&man.Reference) && anyone.Reference.sameCritical(&woman.Reference)
	}
	return man, man.Reference.sameCritical(&woman.Reference) && man.Reference.Normal.equal(woman.Reference.Normal)
}

// selectFor is Select for a known gender.
func selectFor(bands []Band, gender byte, born births, on time.Time) (band *Band, ok bool) {
	for i := range bands {
		b := &bands[i]
		if b.Gender != 'A' && b.Gender != gender {
			continue
		}
		switch b.admits(born, on) {
		case forSomeAges:
			return nil, false
		case forEveryAge:
			if band == nil || b.better(band) {
				band = b
			}
		case forNoAge:
		}
	}
	return band, band != nil
}

// Genders in addition to 'M' and 'F'.
const (
	unknownGender = 0
	thirdGender   = 'O'
)

// genderOf returns 'M', 'F', thirdGender or unknownGender.
func genderOf(s string) byte {
	s = strings.TrimSpace(s)
	if s == "" {
		return unknownGender
	}
	if c := s[0] &^ 0x20; c == 'M' || c == 'F' {
		return c
	}
	switch strings.ToLower(s) {
	case "o", "other", "others", "t", "trans", "transgender", "x", "intersex", "third gender":
		return thirdGender
	default:
		return unknownGender
	}
}

func day(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// births is the range of possible birth dates, both inclusive. The zero value means that nothing is known.
type births struct{ first, last time.Time }

// maxYears is the highest plausible age; the oldest person on record reached 122.
const maxYears = 125

// birthOf returns the possible birth dates: one day for a recorded birth date, and for a recorded age the birth dates
// with which a person has that completed age at the collection. The result is zero for a date after the collection and
// for one more than maxYears before it.
func birthOf(p Patient) births {
	if p.SampledOn.IsZero() {
		return births{}
	}
	on := day(p.SampledOn)
	var b births
	if age, ok := ParseAge(p.RecordedAge); !p.BirthDate.IsZero() {
		b = births{day(p.BirthDate), day(p.BirthDate)}
	} else if ok {
		b = births{Age{age.N + 1, age.Unit}.before(on).AddDate(0, 0, 1), age.before(on)}
	}
	if b.last.After(on) || b.last.Before(Age{maxYears + 1, Years}.before(on)) {
		return births{}
	}
	return b
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

// admitted is how many of a patient's possible ages a band covers.
type admitted uint8

const (
	forNoAge admitted = iota
	forSomeAges
	forEveryAge
)

// admits returns how many of the possible birth dates the band covers. Unreadable limits may cover any age.
func (b *Band) admits(born births, on time.Time) admitted {
	if b.From.N == 0 && b.To == nil {
		return forEveryAge
	}
	if born.last.IsZero() || !b.From.valid() || b.To != nil && !b.To.valid() {
		return forSomeAges
	}
	youngest, oldest := born.last, born.first
	if b.From.N > 0 && on.Before(b.From.after(oldest)) || b.To != nil && !on.Before(b.To.after(youngest)) {
		return forNoAge
	}
	if oldest.Equal(youngest) {
		return forEveryAge
	}
	if on.Before(b.From.after(youngest)) || b.To != nil && !on.Before(b.To.after(oldest)) {
		return forSomeAges
	}
	return forEveryAge
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
