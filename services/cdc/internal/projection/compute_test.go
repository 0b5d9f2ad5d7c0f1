package projection_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

func ptr(n int64) *int64 { return &n }

func TestARowIsComputedFromTheThreeSources(t *testing.T) {
	t.Parallel()
	got := projection.Compute(501, projection.Sources{
		Patient: &projection.Patient{LabID: 12, BranchID: ptr(3), OrgID: ptr(45), LabPatientID: "P-501",
			Designation: "Mr", FirstName: " Rahul", LastName: "Sharma ", Contact: "98", Gender: "Male", DateOfBirth: "1990-02-11"},
		Bills: []projection.Bill{
			{ID: 9002, LabID: 12, LabBillID: 302, OrderNumber: "ORD-2", OrgID: ptr(44), BranchID: ptr(4), CCID: ptr(8), Time: 20},
			{ID: 9001, LabID: 12, LabBillID: 301, OrderNumber: "ORD-2", BranchID: ptr(3), Time: 30},
			{ID: 9000, LabID: 12, LabBillID: 300, Time: 10},
			{ID: 8000, LabID: 7, LabBillID: 1, OrderNumber: "OTHER", OrgID: ptr(1), Time: 99},
		},
		Reports: []projection.Report{
			{ID: 7002, LabID: 12, SampleID: "S1", ManualSampleID: "M1", LrfID: "L1", OrgID: ptr(46), RerunOpen: true},
			{ID: 7001, LabID: 12, SampleID: "S1"},
			{ID: 7000, LabID: 7, SampleID: "S0", RerunOpen: true},
		},
	}, nil)
	want := projection.Row{
		UserID: 501, LabID: 12, BranchID: ptr(3), OrgID: ptr(45), LabPatientID: "P-501", FullName: "Mr Rahul Sharma", Contact: "98",
		Gender: "Male", DateOfBirth: "1990-02-11",
		BillIDs: []int64{9000, 9001, 9002}, LabBillIDs: []int64{300, 301, 302}, OrderNumbers: []string{"ORD-2"},
		LabReportIDs: []int64{7001, 7002}, SampleIDs: []string{"S1"}, ManualSampleIDs: []string{"M1"}, LrfIDs: []string{"L1"},
		OrgIDs: []int64{44, 45, 46}, BranchIDs: []int64{3, 4}, CCIDs: []int64{8}, RerunReportIDs: []int64{7002}, LastBillTime: ptr(30),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheFullNameIsOneLineWithinItsColumn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 128)
	for name, c := range map[string]struct {
		patient projection.Patient
		want    string
	}{
		"as written":            {projection.Patient{FullName: "Asha R", FirstName: "Other"}, "Asha R"},
		"of its parts":          {projection.Patient{Designation: "Dr", FirstName: "Asha", MiddleName: "K", LastName: "R"}, "Dr Asha K R"},
		"of some parts":         {projection.Patient{FullName: "  ", LastName: "R"}, "R"},
		"no one knows":          {projection.Patient{}, ""},
		"white space":           {projection.Patient{FullName: " Asha \t R\n"}, "Asha R"},
		"of the longest parts":  {projection.Patient{Designation: strings.Repeat("D", 16), FirstName: long, MiddleName: long, LastName: long}, strings.Repeat("D", 16) + " " + long + " " + long + " " + strings.Repeat("é", 125)},
		"with the widest runes": {projection.Patient{FullName: strings.Repeat("😀", 400)}, strings.Repeat("😀", 400)},
	} {
		c.patient.LabID = 7
		if got := projection.Compute(1, projection.Sources{Patient: &c.patient}, nil).FullName; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAPatientWhoMovesLeavesARoute checks that only B needs a stub after the moves A → B → A.
func TestAPatientWhoMovesLeavesARoute(t *testing.T) {
	t.Parallel()
	in := func(lab int64, previous *projection.Row) *projection.Row {
		row := projection.Compute(1, projection.Sources{Patient: &projection.Patient{LabID: lab}}, previous)
		row.Rev = 1
		return &row
	}
	gone := func(previous *projection.Row) *projection.Row {
		row := projection.Compute(1, projection.Sources{}, previous)
		return &row
	}
	stub := &projection.Row{UserID: 1}
	for name, c := range map[string]struct {
		row      *projection.Row
		lab      int64
		previous []int64
	}{
		"at first":                      {in(7, stub), 7, nil},
		"stayed":                        {in(7, in(7, nil)), 7, nil},
		"A to B":                        {in(8, in(7, nil)), 8, []int64{7}},
		"A to B to A":                   {in(7, in(8, in(7, nil))), 7, []int64{8}},
		"A to B to C":                   {in(3, in(8, in(7, nil))), 3, []int64{7, 8}},
		"A to B, deleted":               {gone(in(8, in(7, nil))), 8, []int64{7}},
		"A to B, deleted, again in C":   {in(3, gone(in(8, in(7, nil)))), 3, []int64{7, 8}},
		"A, deleted twice, again there": {in(7, gone(gone(in(7, nil)))), 7, nil},
		"deleted before anybody looked": {gone(stub), 0, nil},
	} {
		if c.row.LabID != c.lab || !cmp.Equal(c.row.FormerLabIDs, c.previous) {
			t.Errorf("%s: laboratory %d, previous %v", name, c.row.LabID, c.row.FormerLabIDs)
		}
	}
}

func TestADeletedPatientKeepsRoutesAndNothingElse(t *testing.T) {
	t.Parallel()
	previous := &projection.Row{UserID: 1, LabID: 7, FormerLabIDs: []int64{3}, FullName: "Asha R", BillIDs: []int64{5}, Rev: 9}
	bills := []projection.Bill{{ID: 5, LabID: 7, LabBillID: 2, Time: 1}, {ID: 6, LabID: 8, LabBillID: 2, Time: 1}}
	for name, c := range map[string]struct {
		sources projection.Sources
		want    projection.Row
	}{
		"no row":           {projection.Sources{Bills: bills}, projection.Row{UserID: 1, LabID: 7, FormerLabIDs: []int64{3}, IsDeleted: true}},
		"the flag is set":  {projection.Sources{Patient: &projection.Patient{LabID: 7, FullName: "Asha R", IsDeleted: true}, Bills: bills}, projection.Row{UserID: 1, LabID: 7, FormerLabIDs: []int64{3}, IsDeleted: true}},
		"moved, flag set":  {projection.Sources{Patient: &projection.Patient{LabID: 8, IsDeleted: true}, Bills: bills}, projection.Row{UserID: 1, LabID: 8, FormerLabIDs: []int64{3, 7}, IsDeleted: true}},
		"no laboratory":    {projection.Sources{Patient: &projection.Patient{FullName: "Asha R"}, Bills: bills}, projection.Row{UserID: 1, LabID: 7, FormerLabIDs: []int64{3}, IsDeleted: true}},
		"came back from 3": {projection.Sources{Patient: &projection.Patient{LabID: 3, IsDeleted: true}}, projection.Row{UserID: 1, LabID: 3, FormerLabIDs: []int64{7}, IsDeleted: true}},
	} {
		if diff := cmp.Diff(c.want, projection.Compute(1, c.sources, previous)); diff != "" {
			t.Errorf("%s: got %s, want none", name, diff)
		}
	}
}

func TestListsKeepTheNewestEntries(t *testing.T) {
	t.Parallel()
	s := projection.Sources{Patient: &projection.Patient{LabID: 1}}
	for id := int64(1); id <= projection.MaxEntries+10; id++ {
		s.Bills = append(s.Bills, projection.Bill{ID: id, LabID: 1, LabBillID: 100_000 - id, OrderNumber: "same", Time: -id, OrgID: ptr(id)})
	}
	row := projection.Compute(1, s, nil)
	if n := len(row.BillIDs); n != projection.MaxEntries || row.BillIDs[0] != 11 || row.BillIDs[n-1] != projection.MaxEntries+10 {
		t.Errorf("%d bills from %d to %d", n, row.BillIDs[0], row.BillIDs[n-1])
	}
	if n := len(row.LabBillIDs); n != projection.MaxEntries || row.LabBillIDs[0] != 99_989 {
		t.Errorf("%d numbers from %d", n, row.LabBillIDs[0])
	}
	if len(row.OrderNumbers) != 1 || *row.LastBillTime != -1 || !row.Capped() {
		t.Errorf("orders %v, last bill %d, capped %v", row.OrderNumbers, *row.LastBillTime, row.Capped())
	}
}

func TestARevisionBeatsTheStoredOneTheClockAndTheIndex(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_790_000_000_000_000)
	for name, c := range map[string]struct{ stored, index, want int64 }{
		"the first":                    {0, 0, now.UnixMicro()},
		"later":                        {5, 0, now.UnixMicro()},
		"the clock went back":          {now.UnixMicro() + 9, 0, now.UnixMicro() + 10},
		"the document is newer":        {5, 2*(now.UnixMicro()+50) + 1, now.UnixMicro() + 51},
		"the document was purged at v": {5, 2*(now.UnixMicro()+50) + 2, now.UnixMicro() + 52},
		"the document is older":        {5, 7, now.UnixMicro()},
	} {
		if got := projection.NextRev(c.stored, now, c.index); got != c.want || 2*got <= c.index {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
