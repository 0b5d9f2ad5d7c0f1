package enginetest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// Open makes empty stores on MySQL, the document store and Redis.
func Open(t testing.TB, c clock.Clock) storetest.Backend {
	t.Helper()
	db, documents := Database(t), mongotest.Database(t)
	reports, err := mysql.New(db, c)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Backend{
		Reports: realReports{reports}, Documents: mongo.New(documents), OpenSet: openset.New(redistest.Start(t).Client()),
		Fixture: fixture{t, db, documents},
	}
}

type realReports struct{ *mysql.Store }

func (r realReports) Lock(
	ctx context.Context, scope authn.LabScope, id int64, work func(storetest.Locked) error,
) error {
	return mysql.Closings{Store: r.Store}.Lock(ctx, scope, id, func(l closing.Locked) error {
		return work(l.(storetest.Locked))
	})
}

// fixture prepares and reads the platform's tables.
type fixture struct {
	t         testing.TB
	db        *sql.DB
	documents *driver.Database
}

var _ storetest.Fixture = (*fixture)(nil)

// Put implements storetest.Fixture. The id of a report names the billing rows of its profile too.
func (f fixture) Put(row memory.Row) {
	f.t.Helper()
	f.exec("DELETE FROM labReportRelation WHERE id = ?", row.ID)
	f.exec("DELETE FROM reportValues WHERE labReportId_id = ?", row.ID)
	f.exec("DELETE FROM billingInfo WHERE id IN (?, ?)", 2*row.ID, 2*row.ID+1)
	f.exec("INSERT IGNORE INTO labs (id, labName) VALUES (?, 'L')", row.LabID)
	f.exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id) VALUES (?, ?, ?, ?)",
		2*row.ID, row.BillID, row.LabID, row.Tests[0])
	if len(row.Tests) > 1 {
		f.exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId) VALUES (?, ?, ?, ?, ?)",
			2*row.ID+1, row.BillID, row.LabID, row.Tests[1], 2*row.ID)
	}
	f.exec("INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id,"+
		" sampleRedrawFlag, sampleId, manualSampleId, isSigned, isApproved) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		row.ID, row.LabID, row.BillID, 2*row.ID, row.PatientID, row.Tests[0], row.Flag, row.SampleID, row.ManualSampleID,
		row.Signed, row.Signed)
	for _, r := range row.Results {
		f.exec("INSERT INTO reportValues (labReportId_id, profileTestId, `index`, `order`, parameter_name, value, highlight,"+
			" automatedValue) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			row.ID, r.ProfileTestID, r.Index, r.Order, r.ParameterName, r.Value, r.Highlight, r.Automated)
	}
	if len(row.Log) == 0 {
		f.exec("DELETE FROM ActivityLog WHERE labReportId = ?", row.ID)
	}
}

func (f fixture) Get(id int64) memory.Row {
	f.t.Helper()
	row := memory.Row{Tests: make([]int64, 1)}
	row.ID = id
	err := f.db.QueryRowContext(f.t.Context(),
		"SELECT labId_id, billId_id, userDetailsId_id, reportID_id, sampleRedrawFlag,"+
			" sampleId, manualSampleId, isSigned + isApproved > 0 FROM labReportRelation WHERE id = ?", id).
		Scan(&row.LabID, &row.BillID, &row.PatientID, &row.Tests[0], &row.Flag, &row.SampleID, &row.ManualSampleID,
			&row.Signed)
	if err != nil {
		f.t.Fatal(err)
	}
	f.each("SELECT testId_id FROM billingInfo WHERE profileParentId = ?", 2*id, func(scan scanner) error {
		var test int64
		err := scan(&test)
		row.Tests = append(row.Tests, test)
		return err
	})
	f.each("SELECT id, profileTestId, `index`, `order`, parameter_name, value, highlight, automatedValue FROM"+
		" reportValues"+
		" WHERE labReportId_id = ? ORDER BY id", id, func(scan scanner) error {
		var r rerun.Result
		err := scan(&r.ID, &r.ProfileTestID, &r.Index, &r.Order, &r.ParameterName, &r.Value, &r.Highlight, &r.Automated)
		row.Results = append(row.Results, r)
		return err
	})
	f.each("SELECT category, labUserId, labUserName, COALESCE(billId, 0), activityText, meta FROM ActivityLog"+
		" WHERE labReportId = ? ORDER BY id", id, func(scan scanner) error {
		e := memory.Logged{Entry: activitylog.Entry{ReportID: id}}
		err := scan(&e.Category, &e.Actor.ID, &e.Actor.Name, &e.BillID, &e.Text, &e.Meta)
		if e.Actor.Kind = authn.ActorLabUser; e.Actor.ID == authn.PlatformUser {
			e.Actor.Kind = authn.ActorPlatform
		}
		row.Log = append(row.Log, e)
		return err
	})
	f.each("SELECT aggregate, kind, payload, COALESCE(dedupe_key, '') FROM outbox_rerun WHERE aggregate = ? ORDER BY id",
		fmt.Sprintf("report:%d", id), func(scan scanner) error {
			var e outbox.Event
			err := scan(&e.Aggregate, &e.Kind, &e.Payload, &e.DedupeKey)
			row.Sent = append(row.Sent, e)
			return err
		})
	return row
}

func (f fixture) AddParameter(p rerun.Parameter) {
	f.t.Helper()
	f.exec("INSERT INTO ReportFormat (testId_id, `index`, `order`, parameterName) VALUES (?, ?, ?, ?)",
		p.TestID, p.Index, p.Order, p.Name)
}

func (f fixture) Disown() {
	f.t.Helper()
	_, err := f.documents.Collection("SampleRerun").UpdateMany(f.t.Context(), bson.D{},
		bson.D{{Key: "$unset", Value: bson.D{{Key: "written_by", Value: ""}}}})
	if err != nil {
		f.t.Fatal(err)
	}
}

type scanner func(targets ...any) error

func (f fixture) each(query string, arg any, row func(scanner) error) {
	f.t.Helper()
	rows, err := f.db.QueryContext(f.t.Context(), query, arg)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}
}

func (f fixture) exec(statement string, args ...any) {
	f.t.Helper()
	if _, err := f.db.ExecContext(f.t.Context(), statement, args...); err != nil {
		f.t.Fatalf("%v (statement %.60s)", err, statement)
	}
}
