package callout_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// A called report moves from one patient's record to another's. A move that counts as a merge leaves the call as it is,
// so that the new patient's doctor is not told.
func TestWhatIsUnknownOfAPreviousPatientIsNotEqual(t *testing.T) {
	t.Parallel()
	born := time.Date(1984, 2, 11, 0, 0, 0, 0, time.UTC)
	record := func(name, gender string, birth time.Time, deleted, billed bool) callout.PreviousPatient {
		return callout.PreviousPatient{Exists: true, Name: name, Gender: gender, BirthDate: birth, Deleted: deleted, Billed: billed}
	}
	for name, c := range map[string]struct {
		previous callout.PreviousPatient
		now      time.Time // birth date of the report's patient
		merged   bool
	}{
		"deleted, of one birth date":                 {record("Meena R", "Female", born, true, false), born, true},
		"deleted, of another birth date":             {record("Meena", "Female", born, true, false), born.AddDate(0, 0, 1), false},
		"deleted, of the other sex":                  {record("Meena", "Male", born, true, false), born, false},
		"deleted, of the same name":                  {record("Meena", "Female", time.Time{}, true, false), born, true},
		"deleted, of another name, not known":        {record("Sunita", "Female", time.Time{}, true, false), born, false},
		"deleted, of another name, the other is not": {record("Sunita", "Female", born, true, false), time.Time{}, false},
		"deleted, without name and birth date":       {record("", "", time.Time{}, true, false), born, false},
		"without a bill, of the same name":           {record("Meena", "Female", time.Time{}, false, false), born, true},
		"with a bill":                                {record("Meena", "Female", born, false, true), born, false},
		"gone, not called":                           {callout.PreviousPatient{}, born, true},
		"gone, called under this name":               {callout.PreviousPatient{Called: true, CalledAs: "Meena"}, born, true},
		"gone, called under another name":            {callout.PreviousPatient{Called: true, CalledAs: "Sunita"}, born, false},
		"gone, called under an unknown name":         {callout.PreviousPatient{Called: true}, born, false},
	} {
		report := &callout.Report{PatientName: "Meena"}
		report.Chart.Patient = clinical.Patient{Gender: "Female", BirthDate: c.now}
		if got := c.previous.MergedInto(report); got != c.merged {
			t.Errorf("%s: merged: %t, want %t", name, got, c.merged)
		}
	}
}
