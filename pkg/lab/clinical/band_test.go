package clinical_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

func on(t testing.TB, s string) time.Time {
	t.Helper()
	if s == "" {
		return time.Time{}
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func age(n int, u clinical.Unit) clinical.Age { return clinical.Age{N: n, Unit: u} }

func to(n int, u clinical.Unit) *clinical.Age { return &clinical.Age{N: n, Unit: u} }

var bands = []clinical.Band{
	{Gender: 'A', From: age(0, clinical.Days), To: to(28, clinical.Days), Display: "newborn"},
	{Gender: 'A', From: age(28, clinical.Days), To: to(12, clinical.Months), Display: "infant"},
	{Gender: 'A', From: age(1, clinical.Years), To: to(18, clinical.Years), Display: "child"},
	{Gender: 'M', From: age(18, clinical.Years), Display: "man"},
	{Gender: 'F', From: age(18, clinical.Years), Display: "woman"},
	{Gender: 'F', From: age(18, clinical.Years), To: to(50, clinical.Years), Display: "woman before 50"},
	{Gender: 'A', From: age(18, clinical.Years), To: to(19, clinical.Years), Display: "narrow, for all"},
	{Gender: 'A', From: age(0, clinical.Years), Display: "anyone"},
}

func TestSelectByGenderAndCalendarAge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gender, birth, age, sampled string
		want                        string
	}{
		{"M", "2026-11-21", "", "2026-11-21", "newborn"},
		{"M", "2026-10-25", "", "2026-11-21", "newborn"}, // 27 days
		{"M", "2026-10-24", "", "2026-11-21", "infant"},  // 28 days
		{"M", "2025-11-22", "", "2026-11-21", "infant"},
		{"M", "2025-11-21", "", "2026-11-21", "child"}, // first birthday
		{"F", "2008-11-22", "", "2026-11-21", "child"}, // the day before the 18th birthday
		{"F", "2008-11-21", "", "2026-11-21", "woman before 50"},
		{"F", "2004-02-29", "", "2022-02-28", "child"}, // the birthday of a leap day is on 1 March
		{"F", "2004-02-29", "", "2022-03-01", "woman before 50"},
		{"F", "1976-11-21", "", "2026-11-21", "woman"},
		{"female", "1990-01-01", "", "2026-11-21", "woman before 50"},
		{" male", "1990-01-01", "", "2026-11-21", "man"},
		{"m", "2008-01-01", "", "2026-11-21", "man"}, // gender takes precedence over width
		{"Other", "2008-01-01", "", "2026-11-21", "narrow, for all"},
		{"Other", "1990-01-01", "", "2026-11-21", "anyone"},
		{"", "1990-01-01", "", "2026-11-21", "anyone"},
		{"F", "1990-01-01", "3 D", "2026-11-21", "woman before 50"}, // the birth date takes precedence over the recorded age
		{"F", "", "36 Y", "2026-11-21", "woman before 50"},
		{"F", "", "36", "2026-11-21", "woman before 50"},
		{"F", "", "36 years", "2026-11-21", "woman before 50"},
		{"F", "", "5 M", "2026-11-21", "infant"},
		{"F", "", "27 days", "2026-11-21", "newborn"},
		{"F", "", "1 Y", "2024-02-29", "child"},
		{"F", "1901-01-01", "", "2026-11-21", "woman"},
	} {
		band, ok := clinical.Select(bands, clinical.Patient{
			Gender: c.gender, BirthDate: on(t, c.birth), RecordedAge: c.age, SampledOn: on(t, c.sampled)})
		if !ok || band.Display != c.want {
			t.Errorf("%+v: band = %+v, want %q", c, band, c.want)
		}
	}
}

func TestSelectWithoutAMatchingBand(t *testing.T) {
	t.Parallel()
	men, adults := bands[3:4], bands[3:6]
	for _, p := range []clinical.Patient{
		{Gender: "M", BirthDate: on(t, "2020-01-01"), SampledOn: on(t, "2026-11-21")},
		{Gender: "Other", BirthDate: on(t, "1990-01-01"), SampledOn: on(t, "2026-11-21")},
		{Gender: "M", SampledOn: on(t, "2026-11-21")},
		{},
	} {
		if band, ok := clinical.Select(adults, p); ok {
			t.Errorf("%+v: band = %q, want none", p, band.Display)
		}
	}
	if band, ok := clinical.Select(men, clinical.Patient{Gender: "F", BirthDate: on(t, "1990-01-01"), SampledOn: on(t, "2026-11-21")}); ok {
		t.Errorf("a woman: band = %q, want none", band.Display)
	}
}

// Without this rule, a newborn's bilirubin of 19 is compared with the range of adults.
func TestUnknownAgeBesideAgeBandsSelectsNoBand(t *testing.T) {
	t.Parallel()
	newborn := []clinical.Band{
		{Gender: 'A', From: age(0, clinical.Days), To: to(28, clinical.Days), Display: "newborn"}, {Gender: 'A', From: age(0, clinical.Years), Display: "anyone"},
	}
	forAll, womensAges := newborn[1:], []clinical.Band{{Gender: 'F', From: age(0, clinical.Days), To: to(12, clinical.Years)}, {Gender: 'A', Display: "anyone"}}
	for _, c := range []struct{ birth, age, sampled string }{
		{},
		{"", "", "2026-11-21"},
		{"", "adult", "2026-11-21"},
		{"", "-4 Y", "2026-11-21"},
		{"", "99999999 Y", "2026-11-21"},
		{"", "100000 Y", "2026-11-21"},
		{"", "130 Y", "2026-11-21"},
		{"", "3 weeks", "2026-11-21"},
		{"", "0 Y", "2026-11-21"}, // 0 days to 12 months
		{"", "0 M", "2026-11-21"},
		{"", "36 Y", ""},
		{"1990-01-01", "", ""}, // the time of collection or the zone of the laboratory is unknown
		{"2026-11-22", "", "2026-11-21"},
		{"2030-01-01", "36 Y", "2026-11-21"}, // birth after the collection
		{"0001-01-02", "", "2026-11-21"},
		{"1000-01-01", "", "2026-11-21"},
		{"1900-01-01", "", "2026-11-21"}, // a placeholder: no one has reached 126 years
	} {
		p := clinical.Patient{Gender: "M", BirthDate: on(t, c.birth), RecordedAge: c.age, SampledOn: on(t, c.sampled)}
		if band, ok := clinical.Select(newborn, p); ok {
			t.Errorf("%+v: band = %q, want none", c, band.Display)
		}
		if _, ok := clinical.Select(forAll, p); !ok {
			t.Errorf("%+v: no band, want the only one, which is for all ages", c)
		}
		if _, ok := clinical.Select(womensAges, p); !ok {
			t.Errorf("%+v: no band, want the one for all, because the age bands are for women", c)
		}
	}
	for recorded, want := range map[string]string{"1 M": "anyone", "27 D": "newborn", "1 Y": "anyone", "125 Y": "anyone"} {
		if band, ok := clinical.Select(newborn, clinical.Patient{Gender: "M", RecordedAge: recorded, SampledOn: on(t, "2026-11-21")}); !ok || band.Display != want {
			t.Errorf("recorded age %q: band = %+v, want %q", recorded, band, want)
		}
	}
}

func TestUnknownGenderNeedsBandsThatAgree(t *testing.T) {
	t.Parallel()
	ref := func(low, criticalLow string) clinical.Reference {
		return clinical.Reference{Normal: numeric(t, low, "17"), Critical: numeric(t, criticalLow, "")}
	}
	man := clinical.Band{Gender: 'M', Reference: ref("13", "7"), Display: "man"}
	woman := clinical.Band{Gender: 'F', Reference: ref("12", "7.0"), Display: "woman"}
	pregnant := clinical.Band{Gender: 'F', Reference: ref("12", "8"), Display: "woman, other critical limit"}
	sameAsMan := clinical.Band{Gender: 'F', Reference: ref("13.0", "7.00"), Display: "woman, same ranges"}
	anyone := clinical.Band{Gender: 'A', Reference: ref("11", "7"), Display: "anyone"}
	texts := clinical.Band{Gender: 'F', Reference: clinical.Reference{Critical: numeric(t, "7", ""), CriticalTexts: []string{"Low"}}}
	for name, c := range map[string]struct {
		bands       []clinical.Band
		want, third string // "" is none
	}{
		"only for all":                       {[]clinical.Band{anyone}, "anyone", "anyone"},
		"critical limits agree":              {[]clinical.Band{man, woman, anyone}, "anyone", "anyone"},
		"critical limits disagree":           {[]clinical.Band{man, pregnant, anyone}, "", "anyone"},
		"critical texts disagree":            {[]clinical.Band{man, texts, anyone}, "", "anyone"},
		"one gender has the limits of all":   {[]clinical.Band{man, anyone}, "anyone", "anyone"},
		"one gender has limits of its own":   {[]clinical.Band{pregnant, anyone}, "", "anyone"},
		"none for all, equal ranges":         {[]clinical.Band{man, sameAsMan}, "man", ""},
		"none for all, other normal ranges":  {[]clinical.Band{man, woman}, "", ""},
		"none for all, none for the other":   {[]clinical.Band{man}, "", ""},
		"none for all, none for the other 2": {[]clinical.Band{woman}, "", ""},
	} {
		got := func(gender string) string {
			band, ok := clinical.Select(c.bands, clinical.Patient{Gender: gender, BirthDate: on(t, "1990-01-01"), SampledOn: on(t, "2026-11-21")})
			if !ok {
				return ""
			}
			return band.Display
		}
		for _, unknown := range []string{"", " ", "U", "Unknown", "?", "N/A", "-"} {
			if band := got(unknown); band != c.want {
				t.Errorf("%s, gender %q: band = %q, want %q", name, unknown, band, c.want)
			}
		}
		if band := got("Other"); band != c.third {
			t.Errorf("%s, a third gender: band = %q, want %q", name, band, c.third)
		}
	}
}

func TestBandWithAnUnknownUnitMatchesNoPatient(t *testing.T) {
	t.Parallel()
	odd := []clinical.Band{{Gender: 'A', From: clinical.Age{N: 1, Unit: 'Q'}}, {Gender: 'A', To: to(-3, clinical.Years)}}
	if _, ok := clinical.Select(odd, clinical.Patient{BirthDate: on(t, "1990-01-01"), SampledOn: on(t, "2026-11-21")}); ok {
		t.Fatal("an invalid band was selected, want none")
	}
}

func TestMonthCompletesOnTheFirstOfTheNextIfTooShort(t *testing.T) {
	t.Parallel()
	month := []clinical.Band{{Gender: 'A', From: age(1, clinical.Months), Display: "a month"}}
	birth := on(t, "2026-01-31")
	for sampled, want := range map[string]bool{"2026-02-28": false, "2026-03-01": true} {
		if _, ok := clinical.Select(month, clinical.Patient{BirthDate: birth, SampledOn: on(t, sampled)}); ok != want {
			t.Errorf("%s: completed = %v, want %v", sampled, ok, want)
		}
	}
}
