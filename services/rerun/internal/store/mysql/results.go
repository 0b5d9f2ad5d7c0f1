package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Results returns the report's values and holds them, so that no one changes what is being archived.
func (l *locked) Results(ctx context.Context) ([]rerun.Result, error) {
	const query = "SELECT id, profileTestId, `index`, `order`, parameter_name, value, highlight, automatedValue" +
		" FROM reportValues WHERE labReportId_id = ? ORDER BY `order`, `index`, id FOR UPDATE"
	results, err := mysqldb.Collect(ctx, l.tx, query, []any{l.report.ID}, func(row mysqldb.Row, r *rerun.Result) error {
		var value sql.NullString
		err := row.Scan(&r.ID, &r.ProfileTestID, &r.Index, &r.Order, &r.ParameterName, &value, &r.Highlight, &r.Automated)
		r.Value = value.String
		return err
	})
	return results, wrap("read report values", err)
}

// Replace deletes the rows of gone and inserts those of confirmed.
func (l *locked) Replace(ctx context.Context, gone, confirmed []rerun.Result) error {
	if len(gone) > 0 {
		args := []any{l.report.ID}
		for _, r := range gone {
			args = append(args, r.ID)
		}
		_, err := l.tx.ExecContext(ctx, "DELETE FROM reportValues WHERE labReportId_id = ? AND id IN (?"+
			strings.Repeat(", ?", len(gone)-1)+")", args...)
		if err != nil {
			return wrap("delete report values", err)
		}
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
	var args []any
	for _, r := range confirmed {
		args = append(args, l.report.ID, l.report.ID, r.ProfileTestID, r.Index, r.Order, r.ParameterName, r.Value,
			r.Highlight, r.Automated)
	}
	_, err := l.tx.ExecContext(ctx, "INSERT INTO reportValues (labReportId_id, reportForId_id, profileTestId, `index`,"+
		" `order`, parameter_name, value, highlight, automatedValue) VALUES "+row+strings.Repeat(", "+row, len(confirmed)-1), args...)
	return wrap("insert report values", err)
}

// Unsign clears the signature: what was signed is not what the report says now.
func (l *locked) Unsign(ctx context.Context) error {
	_, err := l.tx.ExecContext(ctx, "UPDATE labReportRelation SET isSigned = 0, isApproved = 0"+
		" WHERE id = ? AND labId_id = ?",
		l.report.ID, l.scope.LabID())
	return wrap("clear signature", err)
}
