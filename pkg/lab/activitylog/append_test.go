package activitylog_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

var at = time.Date(2026, 11, 21, 15, 30, 0, 123_456_000, time.FixedZone("Kolkata", 19800))

// canary stands for patient data that no error may contain.
const canary = "13.579 canary"

type flag struct {
	Flag int `json:"sampleRedrawFlag"`
}

type meta struct {
	RerunID string `json:"rerun_id"`
	activitylog.Change[flag]
}

func setup(t *testing.T) *sql.DB {
	t.Helper()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

func scope(t *testing.T) authn.LabScope {
	t.Helper()
	s, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, db *sql.DB, e activitylog.Entry) (id int64, err error) {
	t.Helper()
	err = mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) (err error) {
		id, err = activitylog.Append(t.Context(), tx, scope(t), e)
		return err
	})
	return id, err
}

// row holds the columns of an entry.
type row struct {
	LabID, Category, User int64
	Context, Name, Text   string
	Report, Bill          sql.NullInt64
	Meta                  sql.NullString
	At                    time.Time
}

func read(t *testing.T, db *sql.DB, id int64) row {
	t.Helper()
	var r row
	err := db.QueryRowContext(t.Context(), "SELECT lab_id, category, log_context, labReportId, billId, labUserId,"+
		" labUserName,"+
		" activityText, meta, activityDate FROM ActivityLog WHERE id = ?", id).
		Scan(&r.LabID, &r.Category, &r.Context, &r.Report, &r.Bill, &r.User, &r.Name, &r.Text, &r.Meta, &r.At)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEntryIsStoredWithOldAndNewState(t *testing.T) {
	t.Parallel()
	db := setup(t)
	m := meta{RerunID: "12-a", Change: activitylog.Change[flag]{Old: flag{0}, New: flag{3}}}
	id, err := add(t, db, activitylog.Entry{Category: activitylog.RerunRequested, Context: "SAMPLE_RERUN", ReportID: 7001,
		BillID: 401, Actor: authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}, Text: "Sample rerun requested", Meta: m, At: at})
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, db, id)
	var stored map[string]any
	if err := json.Unmarshal([]byte(got.Meta.String), &stored); err != nil {
		t.Fatal(err)
	}
	got.Meta = sql.NullString{}
	want := row{LabID: 12, Category: 981, User: 77, Context: "SAMPLE_RERUN", Name: "Asha R",
		Text:   "Sample rerun requested",
		Report: sql.NullInt64{Int64: 7001, Valid: true}, Bill: sql.NullInt64{Int64: 401, Valid: true}, At: at.UTC()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("entry (-want +got):\n%s", diff)
	}
	wantMeta := map[string]any{"rerun_id": "12-a", "old": map[string]any{"sampleRedrawFlag": 0.0},
		"new": map[string]any{"sampleRedrawFlag": 3.0}}
	if diff := cmp.Diff(wantMeta, stored); diff != "" {
		t.Fatalf("meta (-want +got):\n%s", diff)
	}
}

func TestMissingPartsOfAnEntryAreNull(t *testing.T) {
	t.Parallel()
	db := setup(t)
	id, err := add(t, db, activitylog.Entry{Category: activitylog.CriticalCallout, Actor: authn.Platform, At: at})
	if err != nil {
		t.Fatal(err)
	}
	if r := read(t, db, id); r.Report.Valid || r.Bill.Valid || r.Meta.Valid || r.User != -1 || r.Name != "system" {
		t.Fatalf("entry = %+v, want NULL for report, bill and meta, and the platform's user", r)
	}
}

// The column labUserId contains ids of lab users only; other actors are named in the meta, because their number may be
// that of a lab user.
func TestOtherActorsAreNamedInTheMeta(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for want, e := range map[string]activitylog.Entry{
		`{"actor_kind":"doctor","actor_id":77}`: {Actor: authn.Actor{Kind: authn.ActorDoctor, ID: 77, Name: "Dr Rao"}},
		`{"actor_kind":"support","actor_id":77,"rerun_id":"r","old":{"sampleRedrawFlag":0},"new":{"sampleRedrawFlag":3}}`: {
			Actor: authn.Actor{Kind: authn.ActorSupport, ID: 77}, Meta: meta{"r", activitylog.Change[flag]{New: flag{3}}}},
	} {
		e.Category, e.At = activitylog.RerunRequested, at
		id, err := add(t, db, e)
		if err != nil {
			t.Fatal(err)
		}
		var user sql.NullInt64
		var got string
		err = db.QueryRowContext(t.Context(), "SELECT labUserId, meta FROM ActivityLog WHERE id = ?", id).Scan(&user, &got)
		if err != nil {
			t.Fatal(err)
		}
		var parsed, wanted any
		if err := errors.Join(json.Unmarshal([]byte(got), &parsed), json.Unmarshal([]byte(want), &wanted)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, parsed); diff != "" || user.Valid {
			t.Errorf("labUserId = %v, want NULL; meta (-want +got):\n%s", user, diff)
		}
	}
}

func TestEntryIsRolledBackWithItsTransaction(t *testing.T) {
	t.Parallel()
	db := setup(t)
	boom := errors.New("boom")
	err := mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) error {
		if _, err := activitylog.Append(t.Context(), tx, scope(t), activitylog.Entry{Category: 1, At: at}); err != nil {
			return err
		}
		return boom
	})
	var n int
	if scan := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM ActivityLog").Scan(&n); scan != nil || n != 0 ||
		!errors.Is(err, boom) {
		t.Fatalf("entries = %d, want 0; transaction error %v, query error %v", n, err, scan)
	}
}

func TestErrorsContainNoPatientData(t *testing.T) {
	t.Parallel()
	db := setup(t)
	entry := activitylog.Entry{Category: activitylog.RerunFailed, At: at}
	wide, broken, unencodable := entry, entry, entry
	wide.Context = canary + strings.Repeat("x", 64)
	broken.Text = canary + "\xff"
	unencodable.Meta = map[string]any{canary: math.NaN()}
	for name, e := range map[string]activitylog.Entry{"too wide": wide, "broken text": broken, "no JSON": unencodable} {
		_, err := add(t, db, e)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error = %v, want one without values", name, err)
		}
		var serverErr *mysql.MySQLError
		if name == "too wide" && !errors.As(err, &serverErr) {
			t.Errorf("error = %v, want the MySQLError as its cause", err)
		}
	}
}
