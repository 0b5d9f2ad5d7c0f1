package lookup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/migrations"
	"github.com/labplatform/labplatform/services/search/internal/detail"
	"github.com/labplatform/labplatform/services/search/internal/lookup"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/mysql"
)

var template = mysqltest.Template{
	Platform: map[string][]string{
		"userDetails": {"id"}, "billing": {"id"}, "labReportRelation": {"id"}, "organization": {"id"}, "AllTests": {"id"}, "labs": {"id"},
	},
	Schemas: migrations.Schemas(),
}

// laboratory inserts Rahul (501, organization 45) with bills 301 and 302, Meena (502, organization 46) with bill 303,
// and Kavita of laboratory 13, who has the same numbers as Rahul.
var laboratory = []string{
	"INSERT INTO userDetails (id, labId_id, branchId, orgId_id, labPatientId, fullName, gender, dateOfBirth) VALUES" +
		" (501, 12, 3, 45, 'P-501', 'Rahul Sharma', 'Male', '1990-02-11'), (502, 12, 4, 46, '311', 'Meena Joshi', 'Female', NULL)," +
		" (601, 13, 9, 95, 'P-501', 'Kavita Rao', 'Female', NULL)",
	"INSERT INTO organization (id, labId_id, orgFullName) VALUES (45, 12, 'Apollo'), (46, 12, 'Care'), (95, 13, 'Elsewhere')",
	"INSERT INTO AllTests (id, labId_id, testName, cell_counter_enabled) VALUES (55, 12, 'Blood count', 1), (64, 12, 'Potassium', 0)",
	"INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, branchId, orgId_id, ccId_id, docId_id, source) VALUES" +
		" (9001, 12, 301, 'ORD-1', 501, 3, 45, 7, 302, 'Insurance'), (9002, 12, 302, 'ORD-1', 501, 4, NULL, NULL, 303, 'Org Pay')," +
		" (302, 12, 303, 'ORD-3', 502, 4, 46, NULL, 302, 'Insurance'), (9311, 12, 311, 'ORD-4', 501, 3, 45, 7, 302, 'Insurance')," +
		" (9601, 13, 301, 'ORD-1', 601, 9, 95, NULL, 302, 'Insurance')",
	"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId, manualSampleId, lrfId, dismissed) VALUES" +
		" (7001, 12, 9001, 501, 55, 'S-10', '', '', 0), (7002, 12, 9001, 501, 64, 'S-10', '', 'L-7', 0), (7003, 12, 9001, 501, 64, 'S-10', '', '', 1)," +
		" (7004, 12, 9002, 501, 64, 'S-10', '', '', 0), (7005, 12, 302, 502, 64, '', 'M-5', '', 0), (8001, 13, 9601, 601, 55, 'S-10', '', '', 0)",
}

type open struct{}

func (open) AdmitRead(context.Context, authn.Principal, authn.LabScope) error { return nil }

// index is a fake that finds patients by manual sample numbers and form numbers. Like the real index, it searches only
// within a scope.
type index struct {
	users   []int64
	partial bool
	hangs   bool
	err     error
}

func (i index) Search(ctx context.Context, _ search.Scope, q search.Query, _ search.Effort) (search.Result, error) {
	if i.hangs {
		<-ctx.Done()
		return search.Result{}, ctx.Err()
	}
	if want := []search.Field{search.LrfIDs, search.ManualSampleIDs}; !cmp.Equal(want, q.Fields) {
		return search.Result{}, fmt.Errorf("the index is asked for %v, want %v", q.Fields, want)
	}
	r := search.Result{Total: int64(len(i.users)), Partial: i.partial}
	for _, id := range i.users {
		r.Hits = append(r.Hits, search.Hit{Person: search.Person{UserID: id}})
	}
	return r, i.err
}

func setup(t *testing.T, i index) (*lookup.UseCase, *sql.DB, *bytes.Buffer) {
	t.Helper()
	db := template.New(t)
	for _, s := range laboratory {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v (statement %.80s)", err, s)
		}
	}
	var log bytes.Buffer
	store := mysql.New(db)
	patients := detail.New(detail.Deps{Limiter: open{}, Reader: store, Audit: slog.New(slog.NewJSONHandler(&log, nil))})
	return lookup.New(lookup.Deps{Limiter: open{}, Reader: store, Patients: patients, Index: i}), db, &log
}

func session(kind authn.SessionType) authn.Principal {
	return authn.Principal{Kind: authn.Session, SessionType: kind, LabID: 12, LabUserID: 77}
}

// told formats an answer with one line per match: kind, number, patient, bill and reports.
func told(answer lookup.Answer) string {
	var lines []string
	for _, m := range answer.Matches {
		line := fmt.Sprintf("%s %s %s", m.Kind, m.Number, m.Patient.FullName)
		if m.Bill != nil {
			line += fmt.Sprintf(" bill %d(%d) %s", m.Bill.LabBillID, m.Bill.ID, m.Bill.Organization)
		}
		for _, r := range m.Reports {
			line += fmt.Sprintf(" %d", r.ID)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

const both = "sample S-10 Rahul Sharma bill 302(9002)  7004; sample S-10 Rahul Sharma bill 301(9001) Apollo 7001 7002"

func TestANumberNamesWhatIsPrintedWithIt(t *testing.T) {
	t.Parallel()
	find, _, _ := setup(t, index{})
	for number, want := range map[string]string{
		"301":                      "bill 301 Rahul Sharma bill 301(9001) Apollo 7001 7002",
		"9001":                     "", // an internal id, which is not printed
		"302":                      "bill 302 Rahul Sharma bill 302(9002)  7004",
		"311":                      "patient 311 Meena Joshi; bill 311 Rahul Sharma bill 311(9311) Apollo",
		"ORD-1":                    "order ORD-1 Rahul Sharma bill 302(9002)  7004; order ORD-1 Rahul Sharma bill 301(9001) Apollo 7001 7002",
		"S-10":                     both,
		"s-10\r\n":                 both,
		"]C0S-10\x1d":              both,
		"\u200bＳ－１０ ":              both,
		"S\u201110":                both,
		"P-501":                    "patient P-501 Rahul Sharma",
		"7002":                     "report 7002 Rahul Sharma bill 301(9001) Apollo 7002",
		"0000007002":               "report 7002 Rahul Sharma bill 301(9001) Apollo 7002",
		"\u096d\u0966\u0966\u0968": "report 7002 Rahul Sharma bill 301(9001) Apollo 7002",
		"7003":                     "", // a dismissed report
		"8001":                     "", // a report of another laboratory
		"0":                        "",
		"9223372036854775808":      "",
		"' OR 1=1 --":              "",
	} {
		got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: number})
		if err != nil || got.More || got.Incomplete || told(got) != want {
			t.Errorf("%q:\n got %s\nwant %s\n%t %t %v", number, told(got), want, got.More, got.Incomplete, err)
		}
	}
}

func TestAnIDNamesItsBillOrReport(t *testing.T) {
	t.Parallel()
	find, _, _ := setup(t, index{})
	for want, c := range map[string]lookup.Command{
		"bill 301 Rahul Sharma bill 301(9001) Apollo 7001 7002": {BillID: 9001},
		"bill 303 Meena Joshi bill 303(302) Care 7005":          {BillID: 302},
		"report 7001 Rahul Sharma bill 301(9001) Apollo 7001":   {ReportID: 7001},
	} {
		if got, err := find.Find(t.Context(), session(authn.LabUser), c); err != nil || told(got) != want {
			t.Errorf("%+v: got %s, want %s, %v", c, told(got), want, err)
		}
	}
	for _, c := range []lookup.Command{{BillID: 9601}, {ReportID: 8001}, {BillID: 1}} {
		if got, err := find.Find(t.Context(), session(authn.LabUser), c); err != nil || len(got.Matches) > 0 {
			t.Errorf("%+v: got %s, want nothing, %v", c, told(got), err)
		}
	}
}

func TestALoginFindsWhatItMaySee(t *testing.T) {
	t.Parallel()
	find, _, _ := setup(t, index{})
	branch, organization, doctor := session(authn.LabUser), session(authn.Organization), session(authn.Doctor)
	branch.BranchID, organization.OrgID, doctor.DoctorID = 4, 46, 303
	other := session(authn.LabUser)
	other.LabID = 13
	for name, c := range map[string]struct {
		login  authn.Principal
		number string
		want   string
	}{
		"a branch, of another branch":       {branch, "301", ""},
		"a branch, its own":                 {branch, "303", "bill 303 Meena Joshi bill 303(302) Care 7005"},
		"an organization, another's":        {organization, "S-10", ""},
		"an organization, one of two":       {organization, "311", "patient 311 Meena Joshi"},
		"a doctor, of another doctor":       {doctor, "301", ""},
		"a doctor, a sample of two bills":   {doctor, "S-10", "sample S-10 Rahul Sharma bill 302(9002)  7004"},
		"a doctor, the patient of own bill": {doctor, "P-501", "patient P-501 Rahul Sharma"},
		"a doctor, another's patient":       {doctor, "311", ""},
		"another laboratory":                {other, "301", "bill 301 Kavita Rao bill 301(9601) Elsewhere 8001"},
	} {
		got, err := find.Find(t.Context(), c.login, lookup.Command{Number: c.number})
		if err != nil || told(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s\n%v", name, told(got), c.want, err)
		}
	}
}

func TestNumbersWithoutAnIndexAreFoundByTheirPatients(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		number string
		users  []int64
	}{
		"sample M-5 Meena Joshi bill 303(302) Care 7005":     {"m-5", []int64{501, 502}},
		"report L-7 Rahul Sharma bill 301(9001) Apollo 7002": {"L-7", []int64{501}},
		"": {"M-5", nil},
	} {
		find, _, _ := setup(t, index{users: c.users})
		if got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: c.number}); err != nil || told(got) != want {
			t.Errorf("%s: got %s, want %s, %v", c.number, told(got), want, err)
		}
	}
	away := apperr.New(apperr.Unavailable, "SEARCH_UNAVAILABLE", "unavailable")
	find, _, _ := setup(t, index{err: away})
	if _, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "M-5"}); !errors.Is(err, away) {
		t.Errorf("a number that only the index could know, while it is unavailable: %v, want its error", err)
	}
}

func change(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%v (statement %.80s)", err, statement)
	}
}

func TestANumberOfATableMayAlsoBeOneOfTheIndex(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{users: []int64{501, 502}})
	change(t, db, "UPDATE labReportRelation SET manualSampleId = '301' WHERE id = 7005")
	change(t, db, "UPDATE labReportRelation SET manualSampleId = 'S-10' WHERE id = 7001") // the number is in both columns
	for number, want := range map[string]string{
		"301":  "bill 301 Rahul Sharma bill 301(9001) Apollo 7001 7002; sample 301 Meena Joshi bill 303(302) Care 7005",
		"S-10": both,
	} {
		got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: number})
		if err != nil || got.More || got.Incomplete || told(got) != want {
			t.Errorf("%s: got %s\nwant %s\n%+v %v", number, told(got), want, got, err)
		}
	}
}

func TestWhatTheIndexDidNotSayIsSaid(t *testing.T) {
	t.Parallel()
	away := apperr.New(apperr.Unavailable, "SEARCH_UNAVAILABLE", "unavailable")
	for name, i := range map[string]index{
		"away": {err: away}, "in part": {partial: true}, "late": {hangs: true},
	} {
		find, _, _ := setup(t, i)
		got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "301"})
		if want := "bill 301 Rahul Sharma bill 301(9001) Apollo 7001 7002"; err != nil || !got.Incomplete || told(got) != want {
			t.Errorf("%s: %s, incomplete %t, %v; want %s", name, told(got), got.Incomplete, err, want)
		}
		if i.hangs {
			continue
		}
		if got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "none"}); !apperr.Is(err, apperr.Unavailable) {
			t.Errorf("%s, and the tables have nothing: %s, %v; want Unavailable", name, told(got), err)
		}
	}
}

func TestAReportThatMovedIsOfItsPatient(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	change(t, db, "UPDATE labReportRelation SET userDetailsId_id = 502 WHERE id = 7002")
	for number, want := range map[string]string{
		"301":  "bill 301 Rahul Sharma bill 301(9001) Apollo 7001",
		"7002": "report 7002 Meena Joshi bill 301(9001) Apollo 7002",
	} {
		if got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: number}); err != nil || told(got) != want {
			t.Errorf("%s: got %s, want %s, %v", number, told(got), want, err)
		}
	}
}

func TestBillsOfOtherPayersAreNotShown(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	change(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, orgId_id, sampleId)"+
		" VALUES (7006, 12, 9002, 501, 64, 45, 'S-11')")
	change(t, db, "INSERT INTO user_meta (user_id, lab_id, branch_ids, org_ids, cc_ids) VALUES (501, 12, '[3,4]', '[45]', '[7]')")
	organization, centre, branch := session(authn.Organization), session(authn.CollectionCenter), session(authn.LabUser)
	organization.OrgID, centre.CCID, branch.BranchID = 45, 7, 3
	const own = " Rahul Sharma bill 301(9001) Apollo 7001"
	for name, login := range map[string]authn.Principal{"organization": organization, "centre": centre, "branch": branch} {
		for want, c := range map[string][]lookup.Command{
			"":                            {{Number: "302"}, {BillID: 9002}, {Number: "7004"}, {ReportID: 7004}, {Number: "303"}},
			"sample S-10" + own + " 7002": {{Number: "S-10"}},
			"patient P-501 Rahul Sharma":  {{Number: "P-501"}},
			"order ORD-1" + own + " 7002": {{Number: "ORD-1"}},
			"report 7001" + own:           {{Number: "7001"}},
		} {
			for _, command := range c {
				if got, err := find.Find(t.Context(), login, command); err != nil || told(got) != want {
					t.Errorf("%s, %+v: got %s, want %s, %v", name, command, told(got), want, err)
				}
			}
		}
	}
	for want, login := range map[string]authn.Principal{
		"": centre, "report 7006 Rahul Sharma 7006": organization, // the report's own organization; its bill has none
	} {
		if got, err := find.Find(t.Context(), login, lookup.Command{ReportID: 7006}); err != nil || told(got) != want {
			t.Errorf("a report of an organization: got %s, want %s, %v", told(got), want, err)
		}
	}
}

func TestNothingHidesAnother(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	for i := range 60 { // newer bills and reports of other doctors with the same numbers
		change(t, db, "INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, docId_id) VALUES (?, 12, ?, '311', 501, 302)", 20000+i, 20000+i)
		change(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId) VALUES (?, 12, 9001, 501, 64, '311')", 30000+i)
	}
	change(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId) VALUES (7007, 12, 9002, 501, 64, '311')")
	got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "311"})
	count := map[lookup.Kind]int{}
	for _, m := range got.Matches {
		count[m.Kind]++
	}
	if want := map[lookup.Kind]int{lookup.Patient: 1, lookup.Bill: 1, lookup.Order: 50, lookup.Sample: 1}; err != nil || !got.More || !cmp.Equal(want, count) {
		t.Errorf("%v, more %t, %v; want %v and more", count, got.More, err, want)
	}
	if newest := got.Matches[2]; newest.Bill.ID != 20059 {
		t.Errorf("the first order is on bill %d, want that of the newest, 20059", newest.Bill.ID)
	}
	samples := got.Matches[52].Reports
	if len(samples) != 50 || samples[0].ID != 30010 || samples[49].ID != 30059 {
		t.Errorf("%d reports of the sample, from %d; want the newest 50", len(samples), samples[0].ID)
	}
	doctor := session(authn.Doctor)
	doctor.DoctorID = 303
	got, err = find.Find(t.Context(), doctor, lookup.Command{Number: "311"})
	if want := "sample 311 Rahul Sharma bill 302(9002)  7007"; err != nil || got.More || told(got) != want {
		t.Errorf("a doctor: %s, more %t, %v; want %s", told(got), got.More, err, want)
	}
}

func TestReportsOfALargeBill(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	for i := range 250 {
		change(t, db, "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId) VALUES (?, 12, 9001, 501, 64, ?)",
			30000+i, fmt.Sprintf("T-%d", i))
	}
	for number, want := range map[string]string{
		"30249": "report 30249 Rahul Sharma bill 301(9001) Apollo 30249",
		"T-240": "sample T-240 Rahul Sharma bill 301(9001) Apollo 30240",
		"302":   "bill 302 Rahul Sharma bill 302(9002)  7004",
	} {
		if got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: number}); err != nil || told(got) != want {
			t.Errorf("%s: got %s, want %s, %v", number, told(got), want, err)
		}
	}
	got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "ORD-1"})
	if err != nil || len(got.Matches) != 2 || len(got.Matches[0].Reports) != 1 || len(got.Matches[1].Reports) != 200 {
		t.Errorf("an order of two bills: %s, %v; want 1 and 200 reports", told(got), err)
	}
}

func TestNumbersInSmallLettersAreFoundByCapitals(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	change(t, db, "UPDATE labReportRelation SET sampleId = 'kx-9' WHERE id = 7005")
	got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "KX-9"})
	if want := "sample kx-9 Meena Joshi bill 303(302) Care 7005"; err != nil || told(got) != want {
		t.Errorf("got %s, want %s, %v", told(got), want, err)
	}
}

func TestMoreThanTheLimitIsSaid(t *testing.T) {
	t.Parallel()
	find, db, _ := setup(t, index{})
	for i := range lookup.MaxNamed + 1 {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id) VALUES (?, 12, ?, 'BULK', 501)",
			20000+i, 20000+i); err != nil {
			t.Fatal(err)
		}
	}
	got, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "BULK"})
	if err != nil || !got.More || len(got.Matches) != lookup.MaxNamed {
		t.Errorf("%d matches, more %t, %v; want %d and more", len(got.Matches), got.More, err, lookup.MaxNamed)
	}
}

func TestPatientsWhoAreShownAreInTheAudit(t *testing.T) {
	t.Parallel()
	find, _, log := setup(t, index{})
	if _, err := find.Find(t.Context(), session(authn.LabUser), lookup.Command{Number: "311"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"user_id":501,`, `"user_id":502,`} {
		if n := strings.Count(log.String(), id); n != 1 {
			t.Errorf("%s is %d times in the audit, want once: %s", id, n, log)
		}
	}
	if strings.Contains(log.String(), "Meena") {
		t.Errorf("a name is in the audit: %s", log)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	find, _, _ := setup(t, index{})
	for _, c := range []lookup.Command{
		{}, {Number: " \u200b"}, {Number: "301", BillID: 9001}, {BillID: 9001, ReportID: 7001}, {BillID: -1}, {ReportID: -1},
		{Number: strings.Repeat("9", 65)},
	} {
		if _, err := find.Find(t.Context(), session(authn.LabUser), c); !apperr.Is(err, apperr.Invalid) {
			t.Errorf("%+v: %v, want Invalid", c, err)
		}
	}
	nowhere := session(authn.LabUser)
	nowhere.LabID = 0
	if _, err := find.Find(t.Context(), nowhere, lookup.Command{Number: "301"}); !errors.Is(err, authn.ErrNoLab) {
		t.Errorf("a login of no laboratory: %v", err)
	}
}
