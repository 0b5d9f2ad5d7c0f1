package mysql

import (
	"context"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
)

// Outdated returns saves of all laboratories, with ids above after, that the retention does not keep and no report
// links.
func (s *Store) Outdated(
	ctx context.Context, r session.Retention, now time.Time, after int64, limit int,
) ([]sweep.Outdated, error) {
	columns := strings.Replace(strings.TrimSuffix(revisionColumns, "s.lab_id = ? AND "), "SELECT ",
		"SELECT s.lab_id, s.lab_report_id, ", 1)
	query := columns + "r.id > ? AND r.uploaded_at < ?" +
		" AND NOT EXISTS (SELECT 1 FROM labReportRelation p WHERE p.id = s.lab_report_id AND p.labId_id = s.lab_id" +
		" AND p.wordFilePath = r.word_s3_path)" +
		" AND (SELECT COUNT(*) FROM external_edit_revision n JOIN external_edit_session m ON m.id = n.session_id" +
		" WHERE m.lab_report_id = s.lab_report_id AND n.id > r.id) >= ? ORDER BY r.id LIMIT ?"
	args := []any{after, now.Add(-r.Age).UnixMilli(), r.Newest, limit}
	outdated, err := mysqldb.Collect(ctx, s.db, query, args, func(row mysqldb.Row, o *sweep.Outdated) error {
		return scanRevision(prefixed{row, []any{&o.LabID, &o.ReportID}}, &o.Revision)
	})
	return outdated, mysqldb.Wrap("read outdated revisions", err)
}

// prefixed is a row with additional columns before the columns that its reader expects.
type prefixed struct {
	mysqldb.Row
	first []any
}

var _ mysqldb.Row = (*prefixed)(nil)

func (p prefixed) Scan(into ...any) error { return p.Row.Scan(append(p.first, into...)...) }

// Retire deletes a save that its report does not link. Unless another save has the same files, they are recorded as
// those of an abandoned upload, so that the sweeper deletes them.
func (s *Store) Retire(
	ctx context.Context, scope authn.LabScope, o sweep.Outdated, files session.Upload,
) (retired bool, err error) {
	err = s.lock(ctx, scope, o.ReportID, func(l *locked) error {
		if retired = l.report.Files.Word != o.Revision.Word.URL; !retired {
			return nil
		}
		if _, err := l.tx.ExecContext(ctx, "DELETE FROM external_edit_revision WHERE id = ? AND session_id IN"+
			" (SELECT s.id FROM external_edit_session s WHERE s.lab_id = ? AND s.lab_report_id = ?)",
			o.Revision.ID, scope.LabID(), o.ReportID); err != nil {
			return mysqldb.Wrap("delete revision", err)
		}
		_, err := l.Holding(ctx, o.Revision.Files())
		if err != session.ErrNoRevision { //nolint:errorlint // Holding does not wrap it
			return err // another save, for example a restored one, has the same files
		}
		if err := l.Announce(ctx, &files); err != nil {
			return err
		}
		_, err = l.tx.ExecContext(ctx, "UPDATE external_edit_upload SET abandoned = 1 WHERE id = ? AND lab_id = ?", files.ID,
			scope.LabID())
		return mysqldb.Wrap("abandon files", err)
	})
	return retired, err
}
