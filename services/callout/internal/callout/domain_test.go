package callout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

func TestStatusHasItsDocumentedName(t *testing.T) {
	t.Parallel()
	for status, want := range map[callout.Status]string{
		0: "NORMAL", 1: "CALLOUT_PENDING", 2: "CALLOUT_DONE", 3: "ABNORMAL", 4: "CALLOUT_ATTEMPTED", 9: "NORMAL",
	} {
		if status.String() != want {
			t.Errorf("state %d is %s, want %s", int(status), status, want)
		}
	}
}

func format(t *testing.T, id, test int64, index, order int, criticalLow, criticalHigh string) callout.Format {
	t.Helper()
	l := callout.Limits{CriticalLow: &criticalLow, CriticalHigh: &criticalHigh}
	r, err := clinical.NewRange(l.CriticalLow, l.CriticalHigh)
	if err != nil {
		t.Fatal(err)
	}
	band := clinical.Band{Gender: 'A', Reference: clinical.Reference{Critical: r}}
	return callout.Format{
		ID: id, TestID: test, Index: index, Order: order, Name: "P", Bands: []clinical.Band{band}, Printed: []callout.Printed{l.Print()},
	}
}

// TestValueIsJudgedByTheFormatsOfItsTest judges values of profile 60, whose tests 61 and 62 share index 1. It checks
// that each value is judged by the formats of its own test.
func TestValueIsJudgedByTheFormatsOfItsTest(t *testing.T) {
	t.Parallel()
	formats := callout.Formats{
		61: {format(t, 611, 61, 1, 1, "1", "10")},
		62: {format(t, 621, 62, 1, 2, "100", "1000"), format(t, 622, 62, 3, 3, "1", "2"), format(t, 623, 62, 3, 4, "5", "6")},
	}
	for name, c := range map[string]struct {
		reading callout.Reading
		want    string
	}{
		"it names its test":                   {callout.Reading{ProfileTestID: 61, Index: 1, Value: "50"}, "[611]"},
		"it names the other test":             {callout.Reading{ProfileTestID: 62, Index: 1, Value: "500"}, "[]"},
		"it names none: its order decides":    {callout.Reading{Index: 1, Order: 2, Value: "50"}, "[621]"},
		"it names none: one format is enough": {callout.Reading{Index: 1, Order: 9, Value: "50"}, "[611 621]"},
		"it names a test of another profile":  {callout.Reading{ProfileTestID: 99, Index: 1, Order: 1, Value: "50"}, "[611]"},
		"two formats of one index":            {callout.Reading{ProfileTestID: 62, Index: 3, Order: 4, Value: "3"}, "[623]"},
		"an unknown index":                    {callout.Reading{Index: 8, Value: "50"}, "[]"},
	} {
		f := callout.Judge(callout.Chart{Tests: []int64{60, 61, 62}, Readings: []callout.Reading{c.reading}}, formats)
		got := []int64{}
		for _, p := range f.Critical {
			got = append(got, p.FormatID)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: critical by the formats %v, want %v", name, got, c.want)
		}
	}
}

func TestLimitsArePrintedAsRanges(t *testing.T) {
	t.Parallel()
	s := func(text string) *string { return &text }
	for want, l := range map[callout.Printed]callout.Limits{
		{Reference: "3.5 - 5.1", Critical: "< 2.5 or > 6.5"}: {Low: s("3.500000"), High: s("5.100000"), CriticalLow: s("2.500000"), CriticalHigh: s("6.5")},
		{Reference: "up to 50", Critical: "> 1000"}:          {High: s("50.000000"), CriticalHigh: s("1000.000000"), Display: "up to 50"},
		{Reference: "<= 50", Critical: "< 10"}:               {High: s("50.000000"), CriticalLow: s("10")},
		{Reference: ">= 0.4", Critical: ""}:                  {Low: s("0.400000")},
		{Reference: "Nil", Critical: "Blasts, Parasites"}:    {NormalTexts: []string{"Nil"}, CriticalTexts: []string{"Blasts", "Parasites"}},
		{}: {},
	} {
		if got := l.Print(); got != want {
			t.Errorf("limits are printed as %+v, want %+v", got, want)
		}
	}
}

func TestVisibilityOfEachKindOfSession(t *testing.T) {
	t.Parallel()
	n := func(i int) *int { return &i }
	for name, c := range map[string]struct {
		p    authn.Principal
		want callout.Visibility
	}{
		"doctor 0":          {authn.Principal{SessionType: authn.Doctor, DocType: n(0), DoctorID: 3}, callout.Visibility{Rule: callout.DoctorDepartments, PersonID: 3}},
		"doctor 2":          {authn.Principal{SessionType: authn.Doctor, DocType: n(2), DoctorID: 3}, callout.Visibility{Rule: callout.DoctorBills, PersonID: 3}},
		"doctor 1":          {authn.Principal{SessionType: authn.Doctor, DocType: n(1), DoctorID: 3}, callout.Visibility{Rule: callout.DoctorBills, PersonID: 3}},
		"doctor of no type": {authn.Principal{SessionType: authn.Doctor, DoctorID: 3}, callout.Visibility{Rule: callout.DoctorBills, PersonID: 3}},
		"user 0":            {authn.Principal{SessionType: authn.LabUser, DepartmentIDs: []int64{4}}, callout.Visibility{Rule: callout.SessionDepartments, Departments: []int64{4}}},
		"user 1":            {authn.Principal{SessionType: authn.LabUser, DepartmentDataType: 1, LabUserID: 7, DepartmentIDs: []int64{4}}, callout.Visibility{Rule: callout.UserDepartments, PersonID: 7}},
		"user 7":            {authn.Principal{SessionType: authn.LabUser, DepartmentDataType: 7}, callout.Visibility{Rule: callout.SessionDepartments}},
		"support":           {authn.Principal{SessionType: authn.Support}, callout.Visibility{Rule: callout.Everything}},
	} {
		got, err := callout.VisibilityOf(c.p)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: visibility %v, %v, want %v", name, got, err, c.want)
		}
	}
	for _, kind := range []authn.SessionType{authn.Organization, authn.CollectionCenter, ""} {
		if _, err := callout.VisibilityOf(authn.Principal{SessionType: kind}); !apperr.Is(err, apperr.Forbidden) {
			t.Errorf("session type %q: %v, want forbidden", kind, err)
		}
	}
}

func TestBrokenStoredJSONIsReadAsEmpty(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"", "null", "[1]", `"x"`, "{", `{"a":1`} {
		if got := string(callout.Object([]byte(broken))); got != "{}" {
			t.Errorf("object %q is read as %s, want {}", broken, got)
		}
		if got := callout.Texts([]byte(broken)); len(got) != 0 || got == nil {
			t.Errorf("texts %q are read as %v, want an empty list", broken, got)
		}
		d := callout.Draft{CalloutMeta: []byte(broken)}
		if _, ok := d.For(callout.Visibility{Rule: callout.SessionDepartments}, []callout.Report{{ID: 1}}); ok {
			t.Errorf("a draft with meta %q is shown to a department, want it hidden", broken)
		}
	}
}

func TestDeadlinesAreFullSecondsAndNeverEarly(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 0, 0, 1, time.UTC)
	pace := callout.Pace{After: 30 * time.Minute, Most: 2}
	e := callout.Episode{DetectedAt: at}
	if e.Started() || e.Overdue(at.AddDate(1, 0, 0)) {
		t.Error("an episode without a deadline is started or overdue, want neither")
	}
	e = e.Start(pace)
	if want := at.Add(30*time.Minute + time.Second).Truncate(time.Second); !e.DueAt.Equal(want) {
		t.Fatalf("the first deadline is %v, want %v", e.DueAt, want)
	}
	if late := e.Raise(at.Add(100*time.Minute), pace); !late.DueAt.Equal(at.Add(120*time.Minute + time.Second).Truncate(time.Second)) {
		t.Errorf("raised 70 minutes late: the next deadline is %v, want 120 minutes after the detection", late.DueAt)
	}
	e = e.Raise(e.DueAt, pace)
	if want := at.Add(time.Hour + time.Second).Truncate(time.Second); !e.DueAt.Equal(want) || e.Level != 1 {
		t.Errorf("after the first escalation: deadline %v, level %d, want %v, 1", e.DueAt, e.Level, want)
	}
	if last := e.Raise(e.DueAt, pace); !last.DueAt.IsZero() || last.Level != 2 || last.Overdue(at.AddDate(1, 0, 0)) {
		t.Errorf("after the last escalation: %+v, want no deadline and level 2", last)
	}
}
