package lookup

import (
	"cmp"
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Kind is the kind of item that has a number.
type Kind string

// Kinds, in the order in which results are sorted.
const (
	Patient Kind = "patient"
	Bill    Kind = "bill"
	Order   Kind = "order"
	Sample  Kind = "sample"
	Report  Kind = "report"
)

// Named is a row that has the requested number.
type Named struct {
	Kind     Kind
	Number   string // as stored
	UserID   int64
	BillID   int64 // 0 for a patient
	ReportID int64 // 0 for patients, bills and orders
}

// kinds are all kinds, in the order in which results are sorted.
var kinds = []Kind{Patient, Bill, Order, Sample, Report}

// newest sorts rows by kind, the newest of each kind first, and keeps at most MaxNamed per kind. more reports whether
// rows were dropped.
func newest(rows []Named) (kept []Named, more bool) {
	slices.SortFunc(rows, func(a, b Named) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			cmp.Compare(b.ReportID, a.ReportID), cmp.Compare(b.BillID, a.BillID), cmp.Compare(b.UserID, a.UserID),
			cmp.Compare(a.Number, b.Number),
		)
	})
	count := map[Kind]int{}
	for _, row := range slices.Compact(rows) { // a report may have the number in both columns
		count[row.Kind]++
		if count[row.Kind] > MaxNamed {
			more = true
			continue
		}
		kept = append(kept, row)
	}
	return kept, more
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
	UserID      int64
	TestID      int64
	TestName    string
	SampleID    string
	CellCounter bool // the cells of this test are counted with the cell counter
}

// Match is an item with the number: a patient, or reports of one bill.
type Match struct {
	Kind    Kind
	Number  string
	Patient search.Person
	Bill    *BillRow // nil for a patient, and for a report whose bill the login may not see
	Reports []ReportRow
}

// group combines a sample's reports on one bill. Groups are in the order of their first rows.
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
	return groups
}

// reportsOf returns the reports referred to by the rows of a group: reports by id, or all reports of a bill and its
// patient.
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
		return r.BillID == n.BillID && r.UserID == n.UserID
	}
	return r.ID == n.ReportID && r.UserID == n.UserID
}
