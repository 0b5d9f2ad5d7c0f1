package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Announce stores the keys of an upload's files, and sets its id.
func (l *locked) Announce(ctx context.Context, u *session.Upload) error {
	result, err := l.tx.ExecContext(ctx,
		"INSERT INTO external_edit_upload (lab_id, session_id, revision, word_key, pdf_key, started_at)"+
			" VALUES (?, ?, ?, ?, ?, ?)", l.scope.LabID(), u.SessionID, u.Number, u.WordKey, u.PDFKey, u.StartedAt.UnixMilli())
	if err != nil {
		return mysqldb.Wrap("announce upload", err)
	}
	u.ID, err = result.LastInsertId()
	return mysqldb.Wrap("announce upload", err)
}

// Take deletes the row of an upload that becomes a revision. It returns false if the upload was abandoned.
func (l *locked) Take(ctx context.Context, uploadID int64) (bool, error) {
	result, err := l.tx.ExecContext(ctx, "DELETE FROM external_edit_upload WHERE id = ? AND lab_id = ? AND abandoned = 0",
		uploadID, l.scope.LabID())
	if err != nil {
		return false, mysqldb.Wrap("take upload", err)
	}
	n, err := result.RowsAffected()
	return n == 1, mysqldb.Wrap("take upload", err)
}

// Touch records that the upload is still in progress.
func (s *Store) Touch(ctx context.Context, scope authn.LabScope, uploadID int64) error {
	_, err := s.db.ExecContext(ctx, "UPDATE external_edit_upload SET started_at = ? WHERE id = ? AND lab_id = ?",
		s.clock.Now().UnixMilli(), uploadID, scope.LabID())
	return mysqldb.Wrap("touch upload", err)
}

// Abandon marks the upload so that it can no longer be linked. It returns false if the upload no longer exists.
func (s *Store) Abandon(ctx context.Context, scope authn.LabScope, uploadID int64) (found bool, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		err := tx.QueryRowContext(ctx, "SELECT id FROM external_edit_upload WHERE id = ? AND lab_id = ? FOR UPDATE", uploadID,
			scope.LabID()).Scan(&id)
		if found = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE external_edit_upload SET abandoned = 1 WHERE id = ? AND lab_id = ?", uploadID,
			scope.LabID())
		return err
	})
	return found, mysqldb.Wrap("abandon upload", err)
}

// Forget deletes the row of an abandoned upload after its files were deleted.
func (s *Store) Forget(ctx context.Context, scope authn.LabScope, uploadID int64) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM external_edit_upload WHERE id = ? AND lab_id = ? AND abandoned = 1",
		uploadID, scope.LabID())
	return mysqldb.Wrap("forget upload", err)
}
