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
		{"F", "", "", "2026-11-21", "anyone"},
		{"F", "", "adult", "2026-11-21", "anyone"},
		{"F", "", "-4 Y", "2026-11-21", "anyone"},
		{"F", "", "99999999 Y", "2026-11-21", "anyone"},
		{"F", "", "3 weeks", "2026-11-21", "anyone"},
		{"F", "2030-01-01", "36 Y", "2026-11-21", "anyone"}, // birth after the sample was taken: age unknown
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
	adults := bands[3:6]
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
