package mysql

import (
	"database/sql"
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
	known := sql.NullTime{Time: born, Valid: true}
	for name, c := range map[string]struct {
		previous previousPatient
		now      time.Time // birth date of the report's patient
		merged   bool
	}{
		"deleted, of one birth date":                 {previousPatient{"Meena R", "Female", known, true, false}, born, true},
		"deleted, of another birth date":             {previousPatient{"Meena", "Female", known, true, false}, born.AddDate(0, 0, 1), false},
		"deleted, of the other sex":                  {previousPatient{"Meena", "Male", known, true, false}, born, false},
		"deleted, of the same name":                  {previousPatient{"Meena", "Female", sql.NullTime{}, true, false}, born, true},
		"deleted, of another name, not known":        {previousPatient{"Sunita", "Female", sql.NullTime{}, true, false}, born, false},
		"deleted, of another name, the other is not": {previousPatient{"Sunita", "Female", known, true, false}, time.Time{}, false},
		"deleted, without name and birth date":       {previousPatient{"", "", sql.NullTime{}, true, false}, born, false},
		"without a bill, of the same name":           {previousPatient{"Meena", "Female", sql.NullTime{}, false, false}, born, true},
		"with a bill":                                {previousPatient{"Meena", "Female", known, false, true}, born, false},
	} {
		report := &callout.Report{PatientName: "Meena"}
		report.Chart.Patient = clinical.Patient{Gender: "Female", BirthDate: c.now}
		if got := c.previous.isNow(report); got != c.merged {
			t.Errorf("%s: merged: %t, want %t", name, got, c.merged)
		}
	}
}
