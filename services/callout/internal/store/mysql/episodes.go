package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

const episodeColumns = "SELECT e.id, e.lab_report_id, e.bill_id, e.detected_at, e.due_at, e.escalations, e.parameters," +
	" e.closed_at IS NOT NULL, e.adopted FROM callout_episode e"

func scanEpisode(r *sql.Rows) (e callout.Episode, err error) {
	var detected int64
	var due sql.NullInt64
	var parameters []byte
	if err := r.Scan(
		&e.ID,
		&e.ReportID,
		&e.BillID,
		&detected,
		&due,
		&e.Level,
		&parameters,
		&e.Closed,
		&e.Adopted,
	); err != nil {
		return e, err
	}
	e.DetectedAt, e.DueAt, e.Parameters = at(detected), atOrZero(due), readParameters(parameters)
	return e, nil
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func atOrZero(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return at(ms.Int64)
}

// readParameters reads what this service wrote; NULL when another program set the report to wait.
func readParameters(stored []byte) (list []callout.Parameter) {
	if len(stored) == 0 || json.Unmarshal(stored, &list) != nil {
		return nil
	}
	return list
}

func parametersColumn(list []callout.Parameter) (sql.NullString, error) {
	if len(list) == 0 {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("encode parameters: %T", list) // the encoder's error may quote a value
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}

func (l *locked) Episodes(ctx context.Context, reportIDs []int64) (map[int64]callout.Episode, error) {
	in, args := list(reportIDs)
	return l.episodes(ctx, episodeColumns+" WHERE e.open_report_id IN ("+in+") AND e.lab_id = ?", args)
}

func (l *locked) LastEpisodes(ctx context.Context, reportIDs []int64) (map[int64]callout.Episode, error) {
	in, args := list(reportIDs)
	return l.episodes(
		ctx,
		episodeColumns+" JOIN (SELECT MAX(id) AS id FROM callout_episode WHERE lab_report_id IN ("+in+")"+
			" GROUP BY lab_report_id) newest ON newest.id = e.id WHERE e.lab_id = ?",
		args,
	)
}

func (l *locked) episodes(ctx context.Context, query string, args []any) (map[int64]callout.Episode, error) {
	found := map[int64]callout.Episode{}
	err := each(ctx, l.tx, "read episodes", query, append(args, l.scope.LabID()), func(r *sql.Rows) error {
		e, err := scanEpisode(r)
		found[e.ReportID] = e
		return err
	})
	return found, err
}

// OpenEpisode implements evaluate.Locked. The report's row is locked, so no one else opens one in between; the unique
// key would refuse it.
func (l *locked) OpenEpisode(ctx context.Context, e callout.Episode) (int64, error) {
	parameters, err := parametersColumn(e.Parameters)
	if err != nil {
		return 0, err
	}
	const insert = "INSERT INTO callout_episode (lab_id, bill_id, lab_report_id, detected_at, due_at, escalations," +
		" parameters, adopted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	result, err := l.tx.ExecContext(ctx, insert, l.scope.LabID(), e.BillID, e.ReportID, e.DetectedAt.UnixMilli(),
		milliseconds(e.DueAt), e.Level, parameters, e.Adopted)
	if err != nil {
		return 0, wrap("open episode", err)
	}
	id, err := result.LastInsertId()
	return id, wrap("open episode", err)
}

func (l *locked) SaveParameters(ctx context.Context, e callout.Episode) error {
	parameters, err := parametersColumn(e.Parameters)
	if err != nil {
		return err
	}
	_, err = l.tx.ExecContext(
		ctx,
		"UPDATE callout_episode SET parameters = ? WHERE id = ? AND lab_id = ?",
		parameters,
		e.ID,
		l.scope.LabID(),
	)
	return wrap("save parameters", err)
}

// CloseEpisode implements evaluate.Locked and save.Locked.
func (l *locked) CloseEpisode(ctx context.Context, reportID int64, closed time.Time, by string) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE callout_episode SET closed_at = ?, closed_by = ?, due_at = NULL"+
		" WHERE open_report_id = ? AND lab_id = ?", closed.UnixMilli(), by, reportID, l.scope.LabID())
	return wrap("close episode", err)
}

func (s *Store) OfBill(ctx context.Context, scope authn.LabScope, billID int64) ([]int64, error) {
	if _, err := s.bill(ctx, s.db, scope, billID, ""); err != nil {
		return nil, err
	}
	var ids []int64
	err := each(
		ctx,
		s.db,
		"read reports of a bill",
		"SELECT id FROM labReportRelation WHERE labId_id = ? AND billId_id = ?"+
			" AND dismissed = 0 ORDER BY id",
		[]any{scope.LabID(), billID},
		scanIDs(&ids),
	)
	return ids, err
}
