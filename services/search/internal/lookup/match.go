package lookup

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Kind is what a number names.
type Kind string

// The kinds, in the order of an answer.
const (
	Patient Kind = "patient"
	Bill    Kind = "bill"
	Order   Kind = "order"
	Sample  Kind = "sample"
	Report  Kind = "report"
)

// Named is one row that has the number.
type Named struct {
	Kind     Kind
	Number   string // as the row has it
	UserID   int64
	BillID   int64 // 0 for a patient
	ReportID int64 // 0 for patients, bills and orders
	DoctorID int64 // of the bill; 0: none
}

// BillRow is the bill of a match.
type BillRow struct {
	ID           int64
	LabBillID    int64
	OrderNumber  string
	Source       string
	Organization string // "" without one
}

// ReportRow is a report of a match.
type ReportRow struct {
	ID          int64
	BillID      int64
	TestID      int64
	TestName    string
	SampleID    string
	CellCounter bool // cells of this test are counted
}

// Match is something with the number: a patient, or reports of one bill.
type Match struct {
	Kind    Kind
	Number  string
	Patient search.Person
	Bill    *BillRow // nil for a patient
	Reports []ReportRow
}

// group unites the reports of a sample that are on one bill, and sorts by kind. Rows of one kind keep their order.
func group(rows []Named) [][]Named {
	var groups [][]Named
	for _, row := range rows {
		at := slices.IndexFunc(groups, func(g []Named) bool {
			return g[0].Kind == row.Kind && g[0].Number == row.Number && g[0].BillID == row.BillID && g[0].UserID == row.UserID
		})
		if at < 0 {
			groups = append(groups, []Named{row})
			continue
		}
		groups[at] = append(groups[at], row)
	}
	kinds := []Kind{Patient, Bill, Order, Sample, Report}
	slices.SortStableFunc(groups, func(a, b []Named) int {
		return slices.Index(kinds, a[0].Kind) - slices.Index(kinds, b[0].Kind)
	})
	return groups
}

// reportsOf returns the reports that the rows of a group name: the named ones, or all of the bill and its patient.
func reportsOf(rows []Named, all []ReportRow) []ReportRow {
	var reports []ReportRow
	for _, report := range all {
		if slices.ContainsFunc(rows, func(row Named) bool { return row.names(report) }) {
			reports = append(reports, report)
		}
	}
	return reports
}

func (n Named) names(r ReportRow) bool {
	if n.Kind == Bill || n.Kind == Order {
		return r.BillID == n.BillID
	}
	return n.ReportID == r.ID
}
