package volume

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestEqualSeedNumbersGiveEqualRowsWhateverTheBatch(t *testing.T) {
	t.Parallel()
	c := Config{Users: 50, Labs: 3, SeedNumber: 7}
	whole := newGenerator(c).patients(0, 50)
	parts := newGenerator(c).patients(0, 20)
	for table, rows := range newGenerator(c).patients(20, 50) {
		parts[table] = append(parts[table], rows...)
	}
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Fatal(diff)
	}
	c.SeedNumber = 8
	if cmp.Equal(whole, newGenerator(c).patients(0, 50)) {
		t.Fatal("another seed number gave the same rows")
	}
}

func TestSizesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{Users: 0, Labs: 1}, {Users: 1, Labs: 0}, {Users: -5, Labs: 1}, {Users: 1, Labs: 2, Into: &Laboratory{Tests: []int{1}}},
		{Users: 1, Labs: 1, Into: &Laboratory{}}} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestPatientsOfALaboratoryThatIsThereAreItsOwn(t *testing.T) {
	t.Parallel()
	c := Config{Users: 300, Labs: 1, SeedNumber: 1, Into: &Laboratory{ID: 12, Branch: 3, Tests: []int{55, 64}, FirstBill: 1000}}
	g := newGenerator(c)
	if others := g.laboratories(); len(others) > 0 {
		t.Errorf("%d tables of other laboratories", len(others))
	}
	numbers := map[any]bool{}
	for _, bill := range g.patients(0, c.Users)["billing"] {
		if bill[1] != 12 || bill[5] != 3 || bill[2].(int) < 1000 || numbers[bill[2]] {
			t.Fatalf("bill %v", bill)
		}
		numbers[bill[2]] = true
	}
	for _, report := range g.patients(0, c.Users)["labReportRelation"] {
		if report[1] != 12 || report[5] != 55 && report[5] != 64 {
			t.Fatalf("report %v", report)
		}
	}
}

func TestLoadingTwiceLeavesTheSameRows(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	count := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var first int
	for range 2 {
		if err := Load(t.Context(), db, Config{Users: 1500, Labs: 4, SeedNumber: 1}, io.Discard, time.Now); err != nil {
			t.Fatal(err)
		}
		reports := count("SELECT COUNT(*) FROM labReportRelation")
		if first == 0 {
			first = reports
		}
		if users := count("SELECT COUNT(*) FROM userDetails"); users != 1500 || reports != first {
			t.Fatalf("%d users, %d reports, want 1500 and %d", users, reports, first)
		}
	}
	orphans := count("SELECT COUNT(*) FROM labReportRelation r LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
		" LEFT JOIN userDetails u ON u.id = r.userDetailsId_id AND u.labId_id = r.labId_id" +
		" LEFT JOIN billingInfo i ON i.id = r.billingInfoId_id AND i.billId_id = r.billId_id" +
		" LEFT JOIN AllTests t ON t.id = r.reportID_id AND t.labId_id = r.labId_id" +
		" WHERE b.id IS NULL OR u.id IS NULL OR i.id IS NULL OR t.id IS NULL")
	if orphans != 0 {
		t.Fatalf("%d reports without their bill, patient, billing row or test in the same laboratory", orphans)
	}
}
