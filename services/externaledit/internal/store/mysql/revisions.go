package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

const revisionColumns = `SELECT r.id, r.session_id, r.revision, r.word_s3_path, r.pdf_s3_path, r.word_sha256,
  r.pdf_sha256, r.word_size, r.pdf_size, r.uploaded_by, r.uploaded_by_name, r.uploaded_by_doctor,
  r.uploaded_at, r.restored_from, ` + movedSession + `
FROM external_edit_revision r JOIN external_edit_session s ON s.id = r.session_id WHERE s.lab_id = ? AND `

func scanRevision(row mysqldb.Row, r *session.Revision) error {
	var uploaded int64
	var restored sql.NullInt64
	err := row.Scan(&r.ID, &r.SessionID, &r.Number, &r.Word.URL, &r.PDF.URL, &r.Word.SHA256, &r.PDF.SHA256, &r.Word.Size,
		&r.PDF.Size,
		&r.UploadedBy.ID, &r.UploadedBy.Name, &r.UploadedBy.IsDoctor, &uploaded, &restored, &r.Moved)
	r.UploadedAt, r.RestoredFrom = moment(uploaded), restored.Int64
	return err
}

func readRevision(
	ctx context.Context, q querier, scope authn.LabScope, sessionID, number int64,
) (found session.Revision, err error) {
	err = scanRevision(q.QueryRowContext(ctx, revisionColumns+"r.session_id = ? AND r.revision = ?", scope.LabID(),
		sessionID, number), &found)
	return found, orMissing("read revision", err, session.ErrNoRevision)
}

// Revision returns the save of a session with this number.
func (s *Store) Revision(ctx context.Context, scope authn.LabScope, sessionID, number int64) (session.Revision, error) {
	return readRevision(ctx, s.db, scope, sessionID, number)
}

// Revisions returns a page of the saves of all sessions of the report, the newest first.
func (s *Store) Revisions(
	ctx context.Context, scope authn.LabScope, reportID int64, p session.Page,
) ([]session.Revision, error) {
	const query = revisionColumns + "s.lab_report_id = ? AND (? = 0 OR r.id < ?) ORDER BY r.id DESC LIMIT ?"
	args := []any{scope.LabID(), reportID, p.Before, p.Before, p.Limit}
	list, err := mysqldb.Collect(ctx, s.db, query, args, scanRevision)
	return list, mysqldb.Wrap("read revisions", err)
}

func readHolding(
	ctx context.Context, q querier, scope authn.LabScope, reportID int64, f session.Files,
) (found session.Revision, err error) {
	err = scanRevision(q.QueryRowContext(ctx, revisionColumns+"s.lab_report_id = ? AND r.word_s3_path = ?"+
		" AND r.pdf_s3_path = ? ORDER BY r.id DESC LIMIT 1", scope.LabID(), reportID, f.Word, f.PDF), &found)
	return found, orMissing("read revision", err, session.ErrNoRevision)
}

// Holding returns the newest save of the report that has these files.
func (s *Store) Holding(
	ctx context.Context, scope authn.LabScope, reportID int64, f session.Files,
) (session.Revision, error) {
	return readHolding(ctx, s.db, scope, reportID, f)
}

// Holding returns the newest save of the locked report that has these files.
func (l *locked) Holding(ctx context.Context, f session.Files) (session.Revision, error) {
	return readHolding(ctx, l.tx, l.scope, l.report.ID, f)
}

// Origin returns the session of the locked report that saved this Word file; nil if none did.
func (l *locked) Origin(ctx context.Context, word string) (*session.Session, error) {
	found, err := readSession(ctx, l.tx, "lab_id = ? AND lab_report_id = ? AND EXISTS"+
		" (SELECT 1 FROM external_edit_revision r WHERE r.session_id = s.id AND r.word_s3_path = ?) ORDER BY id LIMIT 1",
		l.scope.LabID(), l.report.ID, word)
	if err == session.ErrNoSession { //nolint:errorlint // readSession does not wrap it
		return nil, nil
	}
	return &found, err
}

// Revision returns a save of the locked report by its id.
func (l *locked) Revision(ctx context.Context, id int64) (found session.Revision, err error) {
	err = scanRevision(l.tx.QueryRowContext(ctx, revisionColumns+"s.lab_report_id = ? AND r.id = ?",
		l.scope.LabID(), l.report.ID, id), &found)
	return found, orMissing("read revision", err, session.ErrNoRevision)
}

// Latest returns the linked save of the session; nil before the first.
func (l *locked) Latest(ctx context.Context, s *session.Session) (*session.Revision, error) {
	if s.Revision == 0 {
		return nil, nil
	}
	found, err := readRevision(ctx, l.tx, l.scope, s.ID, s.Revision)
	if err == session.ErrNoRevision { //nolint:errorlint // readRevision does not wrap it
		return nil, nil
	}
	return &found, err
}

// AddRevision stores a save and sets its id.
func (l *locked) AddRevision(ctx context.Context, r *session.Revision) error {
	result, err := l.tx.ExecContext(
		ctx,
		`INSERT INTO external_edit_revision (session_id, revision,
  word_s3_path, pdf_s3_path, word_sha256, pdf_sha256, word_size, pdf_size, uploaded_by, uploaded_by_name,
  uploaded_by_doctor, uploaded_at, restored_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.SessionID,
		r.Number,
		r.Word.URL,
		r.PDF.URL,
		r.Word.SHA256,
		r.PDF.SHA256,
		r.Word.Size,
		r.PDF.Size,
		r.UploadedBy.ID,
		r.UploadedBy.Name,
		r.UploadedBy.IsDoctor,
		r.UploadedAt.UnixMilli(),
		sql.NullInt64{Int64: r.RestoredFrom, Valid: r.RestoredFrom != 0},
	)
	if err != nil {
		return mysqldb.Wrap("insert revision", err)
	}
	r.ID, err = result.LastInsertId()
	return mysqldb.Wrap("insert revision", err)
}
