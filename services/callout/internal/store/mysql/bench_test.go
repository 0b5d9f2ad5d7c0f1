package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// BenchmarkRecords lists the records of a bill of 30 reports with 20 parameters, of which two are critical. Use it for
// profiling; `make bench NAME=callout` measures the same in a complete stack.
func BenchmarkRecords(b *testing.B) {
	const bill, reports, parameters = 9_100_000, 30, 20
	db := storetest.NewDatabase(b)
	var formats, ranges, rows, values []string
	for test := range reports {
		report := bill + test
		rows = append(rows, fmt.Sprintf("(%d, 12, %d, %[1]d, 501, %[3]d, 1, '2026-11-19 04:07:30', 1)", report, bill, 9100+test))
		for i := 1; i <= parameters; i++ {
			id, value := 9_100_000+test*100+i, fmt.Sprintf("7.%d", i)
			if i <= 2 {
				value = "40"
			}
			formats = append(formats, fmt.Sprintf("(%d, %d, %d, %[3]d, 'Parameter %[3]d', 'mmol/L')", id, 9100+test, i))
			for n, gender := range []string{"M", "F"} {
				ranges = append(ranges, fmt.Sprintf("(%d, %d, '%s', 0, 4, 11, 2, 30, '4 - 11')", 2*id+n, id, gender))
			}
			values = append(values, fmt.Sprintf("(%d, %d, %[2]d, 'Parameter %[2]d', '%s')", report, i, value))
		}
	}
	for _, statement := range []string{
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id) VALUES (9100000, 12, 9100000, 501)",
		"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, unit) VALUES " + strings.Join(formats, ","),
		"INSERT INTO ReportFormatRange (id, reportFormatId_id, gender, ageFrom, lowerBound, upperBound, criticalLower, criticalUpper, displayRange) VALUES " +
			strings.Join(ranges, ","),
		"INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, sampleCollected, sampleCollectionTime," +
			" criticalValues) VALUES " + strings.Join(rows, ","),
		"INSERT INTO reportValues (labReportId_id, `index`, `order`, parameter_name, value) VALUES " + strings.Join(values, ","),
	} {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	s, err := mysql.New(db, storetest.NewClock(), delivery.Messages{}, storetest.Defaults)
	if err != nil {
		b.Fatal(err)
	}
	u, lab := records.New(s), storetest.Lab(b, 12)
	b.ReportAllocs()
	for b.Loop() {
		list, err := u.List(b.Context(), lab, bill, callout.Visibility{Rule: callout.Everything})
		if err != nil || len(list.Records) != reports {
			b.Fatal(len(list.Records), err)
		}
	}
}
