package mysql_test

import (
	"database/sql"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

func TestTheDatabasePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		db := template.New(t)
		s, err := mysql.New(db, delivery.Encode, clock.Fixed(storetest.Now))
		if err != nil {
			t.Fatal(err)
		}
		return storetest.Subject{
			Editing: mysql.Editing{Store: s}, Uploads: mysql.Uploads{Store: s}, History: mysql.History{Store: s}, Sweep: s,
			AddReport: func(lab int64, r session.Report) {
				exec(t, db,
					"REPLACE INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, isSigned, dismissed) VALUES (?, ?, ?, 501, 55, ?, ?)",
					r.ID, lab, r.BillID, r.Signed, r.Dismissed)
				exec(t, db, "REPLACE INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id) VALUES (?, ?, ?, 501, NULLIF(?, 0))",
					r.BillID, lab, r.BillID, r.DoctorID)
			},
			RemoveReport: func(lab, id int64) {
				exec(t, db, "DELETE FROM labReportRelation WHERE id = ? AND labId_id = ?", id, lab)
			},
			AddTemplate: func(lab int64, tpl session.Template, disabled bool) {
				exec(t, db,
					"INSERT INTO report_word_template (id, lab_id, name, word_s3_filepath, is_disabled) VALUES (?, NULLIF(?, 0), 't', ?, ?)",
					tpl.ID, lab, tpl.Path, disabled)
			},
			SetListed: func(lab int64, a session.Author, listed bool) { setListed(t, db, lab, a, listed) },
			Events:    func() []session.EventName { return events(t, db) },
		}
	})
}

// setListed leaves a user without the permission; a doctor, of whom the list says no more, is taken from it.
func setListed(t *testing.T, db *sql.DB, lab int64, a session.Author, listed bool) {
	t.Helper()
	switch {
	case !a.IsDoctor && listed:
		exec(t, db, `REPLACE INTO labUser (id, labId_id, username, permissions) VALUES (?, ?, 'u', '["x","report_edit"]')`, a.ID, lab)
	case !a.IsDoctor:
		exec(t, db, `UPDATE labUser SET permissions = '["x"]' WHERE id = ?`, a.ID)
	case listed:
		exec(t, db, "REPLACE INTO doctorDetails (id, labId_id, docFullName) VALUES (?, ?, 'd')", a.ID, lab)
	default:
		exec(t, db, "DELETE FROM doctorDetails WHERE id = ?", a.ID)
	}
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func events(t *testing.T, db *sql.DB) []session.EventName {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT payload FROM outbox_externaledit ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []session.EventName
	for rows.Next() {
		var payload []byte
		var event typev1.Event
		if err := rows.Scan(&payload); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(payload, &event); err != nil {
			t.Fatal(err)
		}
		names = append(names, session.EventName(event.GetEvent()))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
