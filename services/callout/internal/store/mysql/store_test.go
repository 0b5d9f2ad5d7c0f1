package mysql_test

import (
	"database/sql"
	"testing"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// newDatabase returns a database with the rows of storetest.World.
func newDatabase(t testing.TB) *sql.DB {
	t.Helper()
	db := template.New(t)
	for _, statement := range storetest.World() {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func open(t *testing.T, c *storetest.Clock) storetest.Backend {
	t.Helper()
	db := newDatabase(t)
	s, err := mysql.New(db, c, storetest.Pace)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	return storetest.Backend{
		Reader: s, Callouts: mysql.Callouts{Store: s}, Evaluations: mysql.Evaluations{Store: s}, Escalations: mysql.Escalations{Store: s},
		Reaps: mysql.Reaps{Store: s}, Sweeps: mysql.Sweeps{Store: s},
		SetValue: func(id int64, index int, value string) {
			exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)",
				id, index, index, value)
			exec("UPDATE labReportRelation SET updatedOn = ? WHERE id = ?", c.Now(), id)
		},
		SetStatus: func(id int64, to callout.Status) {
			exec("UPDATE labReportRelation SET criticalValues = ?, updatedOn = ? WHERE id = ?", to, c.Now(), id)
		},
		Dismiss:    func(id int64) { exec("UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", id) },
		MoveToBill: func(id, bill int64) { exec("UPDATE labReportRelation SET billId_id = ? WHERE id = ?", bill, id) },
		Setting: func(lab int64, own callout.Settings) {
			exec("REPLACE INTO callout_setting (lab_id, escalate_after_minutes, escalate_most, read_back_needed, repeat_within_hours)"+
				" VALUES (?, ?, ?, ?, ?)", lab, int(own.After.Minutes()), own.Most, own.ReadBackNeeded, int(own.RepeatWithin.Hours()))
		},
		Sent: func() []outbox.Event { return sent(t, db) },
	}
}

func sent(t *testing.T, db *sql.DB) (events []outbox.Event) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT aggregate, kind, payload, IFNULL(dedupe_key, '') FROM outbox_callout ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e outbox.Event
		if err := rows.Scan(&e.Aggregate, &e.Kind, &e.Payload, &e.DedupeKey); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}
