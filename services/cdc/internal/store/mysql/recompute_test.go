package mysql_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

func ptr(n int64) *int64 { return &n }

func TestARowHoldsWhatTheSourcesSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 501, 12)
	b.bill(t, 9001, 501, 12)
	b.bill(t, 9002, 501, 7) // in another laboratory
	b.report(t, 7001, 501, 12)
	if got := b.recompute(t, materialize.Target{UserID: 501, SourceTime: 1790000000123}); got.Written != 1 || got.Equal != 0 {
		t.Fatalf("%+v", got)
	}
	want := projection.Row{
		UserID: 501, LabID: 12, BranchID: ptr(3), LabPatientID: "P-501", FullName: "Asha R501", Contact: "98-76", DateOfBirth: "1990-02-11",
		BillIDs: []int64{9001}, LabBillIDs: []int64{9001}, OrderNumbers: []string{"ord-9001"}, LabReportIDs: []int64{7001},
		SampleIDs: []string{"s-7001"}, LrfIDs: []string{"L7001"}, OrgIDs: []int64{45}, BranchIDs: []int64{3}, RerunReportIDs: []int64{7001},
		LastBillTime: ptr(time.Date(2026, 10, 1, 10, 0, 0, 123e6, time.UTC).UnixMilli()),
		Rev:          start.UnixMicro(), UpdatedAt: start.UnixMilli(),
	}
	if diff := cmp.Diff(want, b.row(t, 501)); diff != "" {
		t.Fatal(diff)
	}
	b.same(t)
	var sourceTime int64
	if err := b.db.QueryRowContext(t.Context(), "SELECT source_ts_ms FROM user_meta WHERE user_id = 501").Scan(&sourceTime); err != nil || sourceTime != 1790000000123 {
		t.Fatalf("source_ts_ms %d, %v", sourceTime, err)
	}
}

func TestAnEqualRowIsNotWrittenUnlessForced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.recompute(t, targets(1)...)
	first := b.row(t, 1)
	b.clock.set(start.Add(time.Second))
	if got := b.recompute(t, targets(1)...); got.Equal != 1 || got.Written != 0 {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(first, b.row(t, 1)); diff != "" {
		t.Fatal(diff)
	}
	b.recompute(t, materialize.Target{UserID: 1, Force: true})
	if got := b.row(t, 1).Rev; got != start.Add(time.Second).UnixMicro() {
		t.Errorf("forced: revision %d", got)
	}
	index := 2*start.Add(time.Hour).UnixMicro() + 1 // the index has a version from the future
	b.recompute(t, materialize.Target{UserID: 1, Force: true, IndexVersion: index})
	if got := b.row(t, 1).Rev; 2*got <= index {
		t.Errorf("forced against version %d: revision %d", index, got)
	}
	b.clock.set(start.Add(-time.Hour))
	before := b.row(t, 1).Rev
	b.recompute(t, materialize.Target{UserID: 1, Force: true})
	if got := b.row(t, 1).Rev; got != before+1 {
		t.Errorf("the clock went back: revision %d after %d", got, before)
	}
}

func TestAPatientMovesAndIsDeletedAndComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 7)
	b.bill(t, 5, 1, 7)
	b.recompute(t, targets(1)...)
	b.patient(t, 1, 8)
	b.recompute(t, targets(1)...)
	if got := b.row(t, 1); got.LabID != 8 || !cmp.Equal(got.FormerLabIDs, []int64{7}) || got.BillIDs != nil {
		t.Errorf("moved: %+v", got)
	}
	b.exec(t, "DELETE FROM userDetails WHERE id = 1")
	b.recompute(t, targets(1)...)
	want := projection.Row{UserID: 1, LabID: 8, FormerLabIDs: []int64{7}, IsDeleted: true, Rev: b.row(t, 1).Rev, UpdatedAt: b.row(t, 1).UpdatedAt}
	if diff := cmp.Diff(want, b.row(t, 1)); diff != "" {
		t.Errorf("deleted: %s", diff)
	}
	b.patient(t, 1, 7)
	b.recompute(t, targets(1)...)
	if got := b.row(t, 1); got.LabID != 7 || !cmp.Equal(got.FormerLabIDs, []int64{8}) || got.IsDeleted || !cmp.Equal(got.BillIDs, []int64{5}) {
		t.Errorf("came back: %+v", got)
	}
	b.same(t)
}

func TestAPatientWhomNobodyKnowsLeavesOnlyAStub(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if got := b.recompute(t, materialize.Target{UserID: 404, Force: true}); got.Equal != 1 || got.Written != 0 {
		t.Fatalf("%+v", got)
	}
	rows, err := b.store.RowsByID(t.Context(), []int64{404})
	if err != nil || len(rows) != 0 {
		t.Fatalf("got %v, %v, want 0", rows, err)
	}
	var lab, rev int64
	if err := b.db.QueryRowContext(t.Context(), "SELECT lab_id, rev FROM user_meta WHERE user_id = 404").Scan(&lab, &rev); err != nil || lab != 0 || rev != 0 {
		t.Fatalf("laboratory %d, revision %d, %v", lab, rev, err)
	}
}

// TestDatesThatAreNoneReadAsUnknown checks that invalid dates in old rows are read as unknown and cause no error.
func TestDatesThatAreNoneReadAsUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range []string{
		"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
		"INSERT INTO userDetails (id, labId_id, dateOfBirth, updatedOn) VALUES (1, 12, '2024-02-30', '0000-00-00'), (2, 12, '0000-00-00', '2024-00-10')",
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, billTime) VALUES (5, 12, 1, 1, '2024-02-30 10:00:00'), (6, 12, 2, 2, '1969-12-31 23:59:59.9999')",
	} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.recompute(t, targets(1, 2)...); got.Written != 2 {
		t.Fatalf("got %+v, want 2", got)
	}
	march := time.Date(2024, 3, 1, 10, 0, 0, 0, time.UTC).UnixMilli() // the day after the last day of February
	if got := b.row(t, 1); got.DateOfBirth != "" || *got.LastBillTime != march {
		t.Errorf("%+v, last bill %d", got, *got.LastBillTime)
	}
	if got := b.row(t, 2); got.DateOfBirth != "" || *got.LastBillTime != -1 {
		t.Errorf("%+v, last bill %d", got, *got.LastBillTime)
	}
}

// TestABrokenListIsWrittenAnew checks that the next computation corrects a column that was changed by hand.
func TestABrokenListIsWrittenAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.recompute(t, targets(1)...)
	b.exec(t, `UPDATE user_meta SET bill_ids = '{"a":1}', former_lab_ids = '"x"', sample_ids = '[7]' WHERE user_id = 1`)
	if got := b.recompute(t, targets(1)...); got.Written != 1 {
		t.Fatalf("got %+v, want 1", got)
	}
	if got := b.row(t, 1); got.BillIDs != nil || got.FormerLabIDs != nil || got.SampleIDs != nil {
		t.Fatalf("%+v", got)
	}
}

func TestARowOfManyBillsIsCapped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.exec(t, "INSERT INTO billing (labId_id, labBillId, orderNumber, userDetailsId_id) SELECT 12, seq, CONCAT('O-', seq), 1 FROM "+mysqltest.Numbers(6000)+" ORDER BY seq")
	if got := b.recompute(t, targets(1)...); got.Written != 1 || got.Capped != 1 {
		t.Fatalf("%+v", got)
	}
	row := b.row(t, 1)
	if len(row.BillIDs) != projection.MaxEntries || len(row.OrderNumbers) != projection.MaxEntries || row.OrderNumbers[projection.MaxEntries-1] != "O-6000" {
		t.Fatalf("%d bills, %d orders", len(row.BillIDs), len(row.OrderNumbers))
	}
	b.same(t)
}

// TestManyLargeRowsAreWritten writes five hundred rows with full lists, which do not fit into one statement.
func TestManyLargeRowsAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var all []materialize.Target
	for id := int64(1); id <= 40; id++ {
		b.patient(t, id, 12)
		all = append(all, materialize.Target{UserID: id})
	}
	b.exec(t, "INSERT INTO billing (labId_id, labBillId, orderNumber, userDetailsId_id)"+
		" SELECT 12, u.id * 10000 + seq, REPEAT('O', 60), u.id FROM userDetails u JOIN "+mysqltest.Numbers(2000))
	b.exec(t, "UPDATE billing SET orderNumber = CONCAT(orderNumber, id MOD 1000)")
	if got := b.recompute(t, all...); got.Written != 40 {
		t.Fatalf("got %+v, want 40", got)
	}
	different, err := b.store.Differences(t.Context(), []int64{1, 20, 40})
	if err != nil || len(different) != 0 {
		t.Fatalf("got %v, %v, want 0", different, err)
	}
}

func TestAnEventBeforeItsRowIsEarly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.patient(t, 2, 12)
	b.bill(t, 5, 1, 12)
	b.report(t, 6, 1, 12)
	at := start.Add(-time.Hour)
	for _, table := range []string{"userDetails", "billing", "labReportRelation"} {
		b.exec(t, "UPDATE "+table+" SET updatedOn = ?", at)
	}
	micro := time.Microsecond
	for name, c := range map[string]struct {
		user  int64
		seen  materialize.Seen
		early bool
	}{
		"the patient, as old":           {1, materialize.Seen{Table: change.UserDetails, RowID: 1, UpdatedOn: at}, false},
		"the patient, older":            {1, materialize.Seen{Table: change.UserDetails, RowID: 1, UpdatedOn: at.Add(micro)}, true},
		"the patient, newer":            {1, materialize.Seen{Table: change.UserDetails, RowID: 1, UpdatedOn: at.Add(-micro)}, false},
		"the patient, missing":          {404, materialize.Seen{Table: change.UserDetails, RowID: 404, UpdatedOn: at}, true},
		"a bill without a time":         {1, materialize.Seen{Table: change.Billing, RowID: 5}, false},
		"a bill, missing":               {1, materialize.Seen{Table: change.Billing, RowID: 99}, true},
		"a bill, older":                 {1, materialize.Seen{Table: change.Billing, RowID: 5, UpdatedOn: at.Add(micro)}, true},
		"a bill that moved here before": {2, materialize.Seen{Table: change.Billing, RowID: 5, UpdatedOn: at}, false},
		"a report, older":               {1, materialize.Seen{Table: change.LabReportRelation, RowID: 6, UpdatedOn: at.Add(micro)}, true},
		"a report, elsewhere and older": {2, materialize.Seen{Table: change.LabReportRelation, RowID: 6, UpdatedOn: at.Add(micro)}, true},
		"deleted, gone":                 {1, materialize.Seen{Table: change.Billing, RowID: 99, UpdatedOn: at, Gone: true}, false},
		"deleted, still there":          {1, materialize.Seen{Table: change.Billing, RowID: 5, UpdatedOn: at, Gone: true}, true},
		"deleted, inserted again":       {1, materialize.Seen{Table: change.Billing, RowID: 5, UpdatedOn: at.Add(-micro), Gone: true}, false},
		"the patient, still there":      {1, materialize.Seen{Table: change.UserDetails, RowID: 1, UpdatedOn: at, Gone: true}, true},
	} {
		got := b.recompute(t, materialize.Target{UserID: c.user, Seen: []materialize.Seen{c.seen}})
		if early := len(got.Early) == 1; early != c.early {
			t.Errorf("%s: early is %v", name, early)
		}
	}
}

// TestAPatientWithManyBillsIsComputedFromTheNewest computes the account of a walk-in counter. The newest 5,000 bills
// must be listed, and the organizations of all 200,000 bills may see the patient.
func TestAPatientWithManyBillsIsComputedFromTheNewest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const bills, reports = 200_000, 6_000
	b.patient(t, 1, 12)
	b.patient(t, 2, 12)
	b.bill(t, 300_001, 2, 12)
	const step = 20_000 // a statement must finish within the driver's timeout even on a slow machine
	for from := 0; from < bills; from += step {
		b.exec(t, "INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, billTime)"+
			" SELECT n, IF(n = 200000, 7, 12), n, CONCAT('o', n), 1, IF(n <= 3, 70 + n, 45),"+
			" IF(n = 10, '2026-11-20 10:00:00', '2026-10-01 10:00:00') FROM (SELECT seq + ? AS n FROM "+mysqltest.Numbers(step)+") numbers", from)
	}
	b.exec(t, "INSERT INTO labReportRelation (id, labId_id, billId_id, reportID_id, userDetailsId_id, sampleId, orgId_id) SELECT seq, 12, 1, 9, 1, CONCAT('s', seq), IF(seq = 1, 80, 45) FROM "+mysqltest.Numbers(reports))
	begin := time.Now()
	if got := b.recompute(t, targets(1, 2)...); got.Written != 2 {
		t.Fatalf("got %+v, want 2", got)
	}
	t.Logf("computed in %s", time.Since(begin))
	row := b.row(t, 1)
	if n := len(row.BillIDs); n != projection.MaxEntries || row.BillIDs[n-1] != bills-1 || row.BillIDs[0] != bills-projection.MaxEntries {
		t.Errorf("%d bills, from %d", len(row.BillIDs), row.BillIDs[0])
	}
	if n := len(row.SampleIDs); n != projection.MaxEntries || row.SampleIDs[n-1] != "s6000" {
		t.Errorf("%d samples", n)
	}
	if diff := cmp.Diff([]int64{45, 71, 72, 73, 80}, row.OrgIDs); diff != "" {
		t.Error(diff)
	}
	if want := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).UnixMilli(); row.LastBillTime == nil || *row.LastBillTime != want {
		t.Errorf("last bill %v", row.LastBillTime)
	}
	if diff := cmp.Diff([]int64{300_001}, b.row(t, 2).BillIDs); diff != "" {
		t.Error(diff)
	}
	// An event about one of the old bills finds its row, even if it is repeated.
	seen := materialize.Target{UserID: 1, Seen: []materialize.Seen{{Table: change.Billing, RowID: 5}}}
	if got := b.recompute(t, seen); got.Equal != 1 || len(got.Early) != 0 {
		t.Errorf("%+v", got)
	}
}
