package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// TestANewbornWithAHalfBirthDateIsANewborn uses a birth date of which only the year is known, beside the recorded age.
// The driver would return the last November of the year before, with which the limits for children would apply.
func TestANewbornWithAHalfBirthDateIsANewborn(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	f.DB.SetMaxOpenConns(1) // so that SET SESSION applies to all statements
	f.Exec("SET SESSION sql_mode = ''")
	f.Exec("UPDATE userDetails SET dateOfBirth = '2026-00-00', age = '5 D' WHERE id = 501")
	f.DB.SetMaxOpenConns(0)
	f.Exec("UPDATE ReportFormatRange SET ageFrom = 28, ageFromUnit = 'D'")
	f.Exec("INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageTo, ageToUnit, lowerBound, upperBound, criticalLower, criticalUpper)" +
		" VALUES (6602, 'A', 28, 'D', 3.7, 5.5, 3, 6)")
	f.Exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value) VALUES (7001, 2, 2, '6.2')")
	results, err := f.Evaluate.Reports(t.Context(), storetest.Lab(t, 12), []int64{storetest.Potassium}, callout.Event{Named: true})
	if err != nil || len(results) != 1 || results[0].Status != callout.Pending {
		t.Errorf("%+v, error %v; want potassium 6.2 of a newborn to wait for a call", results, err)
	}
}
