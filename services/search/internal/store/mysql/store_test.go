package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/migrations"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/login"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/mysql"
)

var (
	platform   = map[string][]string{"userDetails": {"id"}, "billing": {"id"}, "labReportRelation": {"id"}, "labs": {"id"}}
	uncaptured = mysqltest.Template{Platform: platform}
	complete   = mysqltest.Template{Platform: platform, Schemas: migrations.Schemas()}
)

// setup returns a store over the platform's tables and, if captured is set, those of change capture.
func setup(t *testing.T, captured bool) (*mysql.Store, *sql.DB) {
	t.Helper()
	template := &uncaptured
	if captured {
		template = &complete
	}
	db := template.New(t)
	return mysql.New(db), db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v (statement %.80s)", err, s)
		}
	}
}

func lab(t *testing.T, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

const (
	// withoutPerson restores the schema that user_meta has during the migration of change capture.
	withoutPerson = "ALTER TABLE user_meta DROP COLUMN full_name, DROP COLUMN contact, DROP COLUMN alternate_contact, DROP COLUMN email," +
		" DROP COLUMN gender, DROP COLUMN date_of_birth, DROP COLUMN age, DROP COLUMN passport_no, DROP COLUMN national_identity_number"
	aPatient = "INSERT INTO userDetails (id, labId_id, branchId, orgId_id, labPatientId, fullName, contact, alternateContact, email, gender, dateOfBirth, age," +
		" nationalIdentityNumber, passportNo, updatedOn) VALUES (501, 12, 3, 45, 'P-000501', ' Rahul  Sharma', '9876543210', '', 'r@x.in', 'Male'," +
		" '1990-02-11', '36 Y', 'N1', 'Z9', '2026-11-21 09:00:00.250')"
	itsProjection = "INSERT INTO user_meta (user_id, lab_id, order_numbers, bill_ids, lab_bill_ids, lab_report_ids, sample_ids, manual_sample_ids, lrf_ids," +
		" org_ids, branch_ids, last_bill_time, rev, updated_at) VALUES (501, 12, '[\"ORD-1\",\"ORD-2\"]', '[9001,9002]', '[301,302]', '[7001]', '[\"S001\"]'," +
		" NULL, '[]', '[45,46]', '[3,4]', 1790000000000, 1790000000000000, 1790000100999)"
)

func ptr(n int64) *int64 { return &n }

// rahul returns the record of aPatient without a projection.
func rahul() detail.Record {
	return detail.Record{
		Person: search.Person{
			UserID: 501, LabID: 12, LabPatientID: "P-000501", FullName: "Rahul Sharma", Contact: "9876543210", Email: "r@x.in", Gender: "Male",
			DateOfBirth: "1990-02-11", Age: "36 Y", PassportNo: "Z9", NationalIdentityNumber: "N1", BranchID: ptr(3), OrgID: ptr(45),
			UpdatedAt: time.Date(2026, 11, 21, 9, 0, 0, 250_000_000, time.UTC).UnixMilli(),
		},
		Places: search.Places{BranchIDs: []int64{3}, OrgIDs: []int64{45}},
	}
}

// projected returns the record of aPatient with itsProjection.
func projected() detail.Record {
	r := rahul()
	r.OrderNumbers, r.BillIDs, r.LabBillIDs = []string{"ORD-1", "ORD-2"}, []int64{9001, 9002}, []int64{301, 302}
	r.LabReportIDs, r.SampleIDs, r.LrfIDs, r.LastBillTime = []int64{7001}, []string{"S001"}, []string{}, ptr(1790000000000)
	r.UpdatedAt = max(r.UpdatedAt, 1790000100999)
	r.BranchIDs, r.OrgIDs = []int64{3, 4, 3}, []int64{45, 46, 45}
	return r
}

func TestAPatientIsWhatTheTablesSayInEveryPhase(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		captured   bool
		statements []string
		want       detail.Record
	}{
		"before change capture": {false, []string{aPatient}, rahul()},
		"while it migrates":     {true, []string{withoutPerson, aPatient, itsProjection}, projected()},
		"afterwards":            {true, []string{aPatient, itsProjection}, projected()},
		"not projected yet":     {true, []string{aPatient}, rahul()},
		"projected as of the laboratory that the patient left": {
			true, []string{aPatient, itsProjection, "UPDATE user_meta SET lab_id = 13"}, rahul()},
		"projected as deleted": {
			true, []string{aPatient, itsProjection, "UPDATE user_meta SET is_deleted = 1"}, rahul()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, db := setup(t, c.captured)
			run(t, db, c.statements...)
			got, err := store.Record(t.Context(), lab(t, 12), 501)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPatientWhoIsNotOfTheLaboratoryOrDeletedIsNotThere(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	run(t, db, aPatient, itsProjection,
		"INSERT INTO userDetails (id, labId_id, isDeleted) VALUES (502, 12, 1)",
		// The patient is projected in laboratory 12 but registered in 13. The registration has precedence.
		"INSERT INTO userDetails (id, labId_id) VALUES (503, 13)",
		"INSERT INTO user_meta (user_id, lab_id) VALUES (503, 12), (504, 12)")
	for name, c := range map[string]struct{ lab, user int64 }{
		"of another laboratory": {13, 501}, "deleted": {12, 502}, "moved": {12, 503}, "known to the projection alone": {12, 504}, "unknown": {12, 505},
	} {
		got, err := store.Record(t.Context(), lab(t, c.lab), c.user)
		if !errors.Is(err, detail.ErrNoUser) || got.UserID != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestAPatientIsReferredByTheDoctorsOfTheBills(t *testing.T) {
	t.Parallel()
	store, db := setup(t, false)
	run(t, db, "INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id) VALUES (1, 12, 1, 501, NULL), (2, 12, 2, 501, 301),"+
		" (3, 12, 3, 502, 302), (4, 13, 4, 501, 302)")
	for name, c := range map[string]struct {
		lab, doctor int64
		want        bool
	}{"of one of two bills": {12, 301, true}, "of another's": {12, 302, false}, "in another laboratory": {13, 301, false}, "no one": {12, 0, false}} {
		if got, err := store.IsReferredBy(t.Context(), lab(t, c.lab), 501, c.doctor); err != nil || got != c.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

func TestNamesOfPartsAndDatesThatAreNone(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range []string{
		"SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
		"INSERT INTO userDetails (id, labId_id, designation, firstName, lastName, dateOfBirth) VALUES (501, 12, 'Mr.', 'Rahul', ' Sharma ', '2024-02-30')",
		"INSERT INTO userDetails (id, labId_id, dateOfBirth, ccId_id) VALUES (502, 12, '0000-00-00', 9)",
	} {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Record(t.Context(), lab(t, 12), 501)
	if err != nil || got.FullName != "Mr. Rahul Sharma" || got.DateOfBirth != "" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = store.Record(t.Context(), lab(t, 12), 502)
	if err != nil || got.FullName != "" || got.DateOfBirth != "" || !cmp.Equal(got.CCIDs, []int64{9}) || got.BranchIDs != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFullListsAreReadWhole(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	const many = 5000
	ids := make([]string, many)
	for i := range ids {
		ids[i] = fmt.Sprint(i + 1)
	}
	run(t, db, aPatient, itsProjection, "UPDATE user_meta SET bill_ids = '["+strings.Join(ids, ",")+"]'")
	got, err := store.Record(t.Context(), lab(t, 12), 501)
	if err != nil || len(got.BillIDs) != many || got.BillIDs[many-1] != many {
		t.Fatalf("%d bills, %v", len(got.BillIDs), err)
	}
}

func TestAListThatIsNoneIsAnErrorWithoutItsValue(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	run(t, db, aPatient, itsProjection, "UPDATE user_meta SET bill_ids = '[\"Geheim\"]'")
	_, err := store.Record(t.Context(), lab(t, 12), 501)
	if err == nil || strings.Contains(err.Error(), "Geheim") || apperr.KindOf(err) != apperr.Internal {
		t.Fatalf("error %v", err)
	}
}

func TestTheMomentBeforeWhichAllIsSearchable(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	for _, step := range []struct {
		statement string
		want      time.Time
	}{
		{"DELETE FROM cdc_freshness", time.Time{}},
		{"INSERT INTO cdc_freshness (id, complete_at, candidate_at, candidate_applied_at) VALUES (1, 0, 1790000000123, 1790000000999)", time.Time{}}, // the first heartbeat has not arrived yet
		{"UPDATE cdc_freshness SET complete_at = 1790000000123, candidate_at = 0", time.UnixMilli(1790000000123).UTC()},
	} {
		run(t, db, step.statement)
		if got, err := store.CompleteTo(t.Context()); err != nil || !got.Equal(step.want) {
			t.Fatalf("%s: %v, %v", step.statement, got, err)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	store, _ := setup(t, false)
	if _, err := store.CompleteTo(t.Context()); err == nil || !strings.Contains(err.Error(), "cdc migrate") {
		t.Errorf("without freshness: %v", err)
	}
}

func TestTheLaboratoryOfALogin(t *testing.T) {
	t.Parallel()
	store, db := setup(t, false)
	run(t, db, "INSERT INTO labs (id, labName, timezone) VALUES (12, 'Asha Diagnostics', 'Asia/Dubai'), (13, 'Care', 'Mars/Olympus')")
	for id, want := range map[int64]login.Laboratory{
		12: {ID: 12, Name: "Asha Diagnostics", Timezone: "Asia/Dubai"},
		13: {ID: 13, Name: "Care", Timezone: "Asia/Kolkata"},
		14: {ID: 14, Timezone: "Asia/Kolkata"},
	} {
		if got, err := store.Laboratory(t.Context(), lab(t, id)); err != nil || got != want {
			t.Errorf("laboratory %d: %+v, %v, want %+v", id, got, err, want)
		}
	}
}

func TestADatabaseThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	db, err := mysqldb.Open(mysqldb.Config{Host: "127.0.0.1", Port: 1, User: "stranger", Database: "none", PoolSize: 1, PoolRecycleSeconds: 60}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := mysql.New(db)
	sight := lookup.Sight{Scope: search.Scope{Lab: lab(t, 12)}}
	for name, read := range map[string]func(context.Context) error{
		"record":   func(ctx context.Context) error { _, err := store.Record(ctx, lab(t, 12), 501); return err },
		"complete": func(ctx context.Context) error { _, err := store.CompleteTo(ctx); return err },
		"number": func(ctx context.Context) error {
			_, err := store.Named(ctx, sight, lookup.Number{Texts: []string{"1"}})
			return err
		},
		"bills":      func(ctx context.Context) error { _, err := store.Bills(ctx, sight, []int64{1}); return err },
		"reports":    func(ctx context.Context) error { _, err := store.Reports(ctx, sight, []int64{1}, nil); return err },
		"laboratory": func(ctx context.Context) error { _, err := store.Laboratory(ctx, lab(t, 12)); return err },
	} {
		if err := read(t.Context()); !apperr.Is(err, apperr.Unavailable) {
			t.Errorf("%s: got %v, want kind Unavailable", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Record(ctx, lab(t, 12), 501); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left gets %v", err)
	}
}

// TestALoginFromOutsideSeesTheNumbersOfItsOwnBills uses a patient with two bills, each of another organization
// and doctor, and checks that a login sees only the numbers of its own bill.
func TestALoginFromOutsideSeesTheNumbersOfItsOwnBills(t *testing.T) {
	t.Parallel()
	store, db := setup(t, true)
	run(t, db, aPatient, itsProjection,
		"INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, docId_id) VALUES"+
			" (9001, 12, 301, 'ORD-1', 501, 45, 301), (9002, 12, 302, 'ORD-2', 501, 46, 302)",
		"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId) VALUES (7001, 12, 9002, 501, 55, 'S001')")
	for name, c := range map[string]struct {
		sees       sight.Sight
		want       string
		registered bool // whether the login sees that organization 45 registered the patient
	}{
		"an organization":    {sight.Sight{OrgID: 45}, "[9001] [301] [ORD-1] [] []", true},
		"another one":        {sight.Sight{OrgID: 46}, "[9002] [302] [ORD-2] [7001] [S001]", false},
		"a referring doctor": {sight.Sight{OwnBills: true, DoctorID: 302}, "[9002] [302] [ORD-2] [7001] [S001]", true},
		"no one":             {sight.Sight{OrgID: 47}, "[] [] [] [] []", false},
	} {
		c.sees.Lab = lab(t, 12)
		p := projected().Person
		if err := store.Own(t.Context(), c.sees, []*search.Person{&p}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.BillIDs, p.LabBillIDs, p.OrderNumbers, p.LabReportIDs, p.SampleIDs); got != c.want || p.LastBillTime != nil {
			t.Errorf("%s sees %s, last bill at %v; want %s and no time", name, got, p.LastBillTime, c.want)
		}
		if (p.OrgID != nil) != c.registered {
			t.Errorf("%s sees that organization %v registered the patient, want it shown: %t", name, p.OrgID, c.registered)
		}
	}
}
