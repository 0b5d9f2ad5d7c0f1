package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// movedSession is true for a session (alias s) whose report belongs to another person than when it began. A record
// merged into another one of the same name, sex and birth date counts as the same person, if all three are known: an
// old program's date without month or day, or before 1900, is unknown. A merged record is deleted or has no bill left;
// twins may have one name, but each has bills.
const movedSession = `(s.patient_id IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM labReportRelation l LEFT JOIN userDetails n ON n.id = l.userDetailsId_id
    LEFT JOIN userDetails b ON b.id = s.patient_id
  WHERE l.id = s.lab_report_id AND l.labId_id = s.lab_id AND (l.userDetailsId_id = s.patient_id
    OR n.fullName = b.fullName AND b.fullName <> '' AND n.gender = b.gender AND b.gender <> ''
    AND n.dateOfBirth = b.dateOfBirth AND YEAR(b.dateOfBirth) >= 1900 AND MONTH(b.dateOfBirth) > 0
    AND DAYOFMONTH(b.dateOfBirth) > 0 AND (b.isDeleted <> 0
      OR NOT EXISTS (SELECT 1 FROM billing o WHERE o.userDetailsId_id = b.id AND o.labId_id = s.lab_id)))))`

// confirmedSince selects when values of the report were last confirmed after the start of a session (alias s).
var confirmedSince = fmt.Sprintf(`(SELECT MAX(a.activityDate) FROM ActivityLog a WHERE a.lab_id = s.lab_id
  AND a.category = %d AND a.labReportId = s.lab_report_id
  AND a.activityDate > TIMESTAMPADD(MICROSECOND, 1000 * s.created_at, TIMESTAMP '1970-01-01 00:00:00'))`,
	activitylog.RerunValuesConfirmed)

var sessionColumns = `SELECT id, lab_id, lab_report_id, IFNULL(patient_id, 0), ` + movedSession + `, ` + confirmedSince + `,
  template_id, template_path, word_file_path,
  pdf_file_path, token_id, author_id, author_name, author_is_doctor, author_listed, login, is_active, revision,
  reserved, created_at, updated_at, saved_at,
  expires_at, ended_at, end_reason, ended_by_name,
  IFNULL((SELECT timezone FROM labs WHERE labs.id = s.lab_id), '')
FROM external_edit_session s`

func readSession(
	ctx context.Context, q querier, condition string, args ...any,
) (found session.Session, err error) {
	err = scanSession(q.QueryRowContext(ctx, sessionColumns+" WHERE "+condition, args...), &found)
	return found, orMissing("read session", err, session.ErrNoSession)
}

func scanSession(row mysqldb.Row, s *session.Session) error {
	var active bool
	var created, updated, expires int64
	var saved, ended sql.NullInt64
	var confirmed sql.NullTime
	var reason, endedBy sql.NullString
	err := row.Scan(
		&s.ID,
		&s.LabID,
		&s.ReportID,
		&s.PatientID,
		&s.Moved,
		&confirmed,
		&s.TemplateID,
		&s.Template,
		&s.Files.Word,
		&s.Files.PDF,
		&s.TokenID,
		&s.Author.ID,
		&s.Author.Name,
		&s.Author.IsDoctor,
		&s.Listed,
		&s.Login,
		&active,
		&s.Revision,
		&s.Reserved,
		&created,
		&updated,
		&saved,
		&expires,
		&ended,
		&reason,
		&endedBy,
		&s.Zone,
	)
	s.ConfirmedAt = confirmed.Time.UTC()
	s.CreatedAt, s.UpdatedAt, s.ExpiresAt = moment(created), moment(updated), moment(expires)
	if saved.Valid {
		s.SavedAt = moment(saved.Int64)
	}
	if ended.Valid {
		s.EndedAt = moment(ended.Int64)
	}
	if s.End, s.EndedBy = session.EndReason(reason.String), endedBy.String; !active && s.End == session.Active {
		s.End = session.ByAdmin // closed in the database by hand, without a reason
	}
	return err
}

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// instant converts a time to milliseconds; the zero time to NULL.
func instant(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// Insert stores a new session and sets its id.
func (l *locked) Insert(ctx context.Context, s *session.Session) error {
	result, err := l.tx.ExecContext(ctx, `INSERT INTO external_edit_session (lab_id, lab_report_id, patient_id,
  template_id, template_path, word_file_path, pdf_file_path, token_id, author_id, author_name, author_is_doctor,
  author_listed, login, is_active, revision, reserved, created_at, updated_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
		l.scope.LabID(), s.ReportID, sql.NullInt64{Int64: s.PatientID, Valid: s.PatientID != 0},
		s.TemplateID, s.Template, s.Files.Word, s.Files.PDF,
		s.TokenID, s.Author.ID, s.Author.Name, s.Author.IsDoctor, s.Listed, s.Login,
		s.Revision, s.Reserved, s.CreatedAt.UnixMilli(), s.UpdatedAt.UnixMilli(), s.ExpiresAt.UnixMilli())
	if mysqldb.IsDuplicate(err) {
		return session.ErrSessionExists
	}
	if err != nil {
		return mysqldb.Wrap("insert session", err)
	}
	s.ID, err = result.LastInsertId()
	return mysqldb.Wrap("insert session", err)
}

// Update stores the columns of a session that may change.
func (l *locked) Update(ctx context.Context, s *session.Session) error {
	_, err := l.tx.ExecContext(ctx, `UPDATE external_edit_session SET word_file_path = ?, pdf_file_path = ?, login = ?,
  is_active = ?, revision = ?, reserved = ?, updated_at = ?, saved_at = ?,
  expires_at = ?, ended_at = ?, end_reason = ?, ended_by_name = ?
WHERE id = ? AND lab_id = ?`,
		s.Files.Word, s.Files.PDF, s.Login, s.End == session.Active, s.Revision, s.Reserved,
		s.UpdatedAt.UnixMilli(), instant(s.SavedAt),
		s.ExpiresAt.UnixMilli(), instant(s.EndedAt), text(string(s.End)), text(s.EndedBy), s.ID, l.scope.LabID())
	return mysqldb.Wrap("update session", err)
}

// Active returns the report's session that was not closed; nil without one.
func (l *locked) Active(ctx context.Context) (*session.Session, error) {
	found, err := readSession(ctx, l.tx, "active_report_id = ? AND lab_id = ?", l.report.ID, l.scope.LabID())
	if err == session.ErrNoSession { //nolint:errorlint // readSession does not wrap it
		return nil, nil
	}
	return &found, err
}

// Session returns a session of the locked report.
func (l *locked) Session(ctx context.Context, id int64) (session.Session, error) {
	return readSession(ctx, l.tx, "id = ? AND lab_id = ? AND lab_report_id = ?", id, l.scope.LabID(), l.report.ID)
}

// Template returns an enabled template of the laboratory or the platform.
func (l *locked) Template(ctx context.Context, id int64) (session.Template, error) {
	t := session.Template{ID: id}
	err := l.tx.QueryRowContext(ctx, "SELECT word_s3_filepath FROM report_word_template"+
		" WHERE id = ? AND (lab_id IS NULL OR lab_id = ?) AND is_disabled = 0", id, l.scope.LabID()).Scan(&t.Path)
	return t, orMissing("read template", err, session.ErrNoTemplate)
}

// Templates returns the enabled templates: the laboratory's, then the platform's.
func (s *Store) Templates(ctx context.Context, scope authn.LabScope) ([]session.Template, error) {
	const query = "SELECT id, word_s3_filepath, name, IFNULL(test_id, 0) FROM report_word_template" +
		" WHERE (lab_id = ? OR lab_id IS NULL) AND is_disabled = 0 ORDER BY lab_id IS NULL, name, id LIMIT 1000"
	found, err := mysqldb.Collect(ctx, s.db, query, []any{scope.LabID()},
		func(row mysqldb.Row, t *session.Template) error { return row.Scan(&t.ID, &t.Path, &t.Name, &t.TestID) })
	return found, mysqldb.Wrap("read templates", err)
}
