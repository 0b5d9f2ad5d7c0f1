package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

func (s *Store) SetUnconfirmed(ctx context.Context, scope authn.LabScope, v evaluate.Unconfirmed) error {
	readings := sql.NullString{}
	if len(v.Readings) > 0 {
		text, err := json.Marshal(v.Readings)
		if err != nil {
			return fmt.Errorf("encode readings: %T", v.Readings) // err is omitted, because it may quote a value
		}
		readings = sql.NullString{String: string(text), Valid: true}
	}
	_, err := s.db.ExecContext(ctx, "INSERT INTO callout_unconfirmed (lab_report_id, lab_id, as_of, received_at, readings)"+
		" SELECT r.id, r.labId_id, ?, ?, ? FROM labReportRelation r WHERE r.id = ? AND r.labId_id = ? ON DUPLICATE KEY UPDATE"+
		" readings = IF(VALUES(as_of) >= as_of, VALUES(readings), readings),"+
		" received_at = IF(VALUES(as_of) >= as_of, VALUES(received_at), received_at), as_of = GREATEST(as_of, VALUES(as_of))",
		v.AsOf, v.ReceivedAt, readings, v.ReportID, scope.LabID())
	return wrap("set unconfirmed values", err)
}

const unconfirmedColumns = "SELECT n.lab_report_id, n.as_of, n.received_at, n.readings FROM callout_unconfirmed n"

type unconfirmedRow struct {
	report   int64
	asOf     int64
	received time.Time
	readings []callout.Reading
}

func scanUnconfirmed(r *sql.Rows) (row unconfirmedRow, err error) {
	var received int64
	var stored []byte
	if err := r.Scan(&row.report, &row.asOf, &received, &stored); err != nil {
		return row, err
	}
	row.received = time.UnixMicro(received).UTC()
	return row, row.parse(stored)
}

func (u *unconfirmedRow) parse(stored []byte) error {
	if err := json.Unmarshal(stored, &u.readings); err != nil {
		return fmt.Errorf("read unconfirmed values of report %d: %T", u.report, err)
	}
	return nil
}

// judge compares the rerun values with the limits of the report.
func (u *unconfirmedRow) judge(r *callout.Report, formats callout.Formats) *callout.RerunValues {
	chart := r.Chart
	chart.Readings = u.readings
	return &callout.RerunValues{AsOf: u.asOf, ReceivedAt: u.received, Critical: callout.Judge(chart, formats).Critical}
}
