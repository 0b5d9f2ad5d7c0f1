package activitylog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Columns returns the columns that Append writes, for a service's check of the platform's tables.
func Columns() map[string][]string {
	return map[string][]string{"ActivityLog": {"id", "lab_id", "category", "log_context", "labReportId", "billId",
		"labUserId", "labUserName", "activityText", "meta", "activityDate"}}
}

// Append adds an entry of the scope's laboratory within tx and returns its id. Its errors contain no values.
func Append(ctx context.Context, tx *sql.Tx, scope authn.LabScope, e Entry) (int64, error) {
	meta, err := metaOf(e)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO ActivityLog (lab_id, category, log_context, labReportId, billId,"+
		" labUserId, labUserName, activityText, meta, activityDate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		scope.LabID(), e.Category, e.Context, idOrNull(e.ReportID), idOrNull(e.BillID), labUser(e.Actor), e.Actor.Name,
		e.Text, meta, e.At.UTC())
	if err != nil {
		return 0, failed(e.Category, err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return 0, failed(e.Category, err)
	}
	return id, nil
}

// labUser returns NULL for an actor that is neither a lab user nor the platform; Append then names the actor in the
// meta.
func labUser(a authn.Actor) sql.NullInt64 {
	id, ok := a.LabUserID()
	return sql.NullInt64{Int64: id, Valid: ok}
}

func metaOf(e Entry) (sql.NullString, error) {
	text := []byte("{}")
	if e.Meta != nil {
		var err error
		if text, err = json.Marshal(e.Meta); err != nil || len(text) < 2 || text[0] != '{' {
			// The encoder's error may quote a value.
			return sql.NullString{}, fmt.Errorf("append to activity log: meta of type %T cannot be a JSON object", e.Meta)
		}
	}
	if _, ok := e.Actor.LabUserID(); ok {
		return sql.NullString{String: string(text), Valid: e.Meta != nil}, nil
	}
	who := fmt.Sprintf(`{"actor_kind":%q,"actor_id":%d`, e.Actor.Kind, e.Actor.ID)
	if len(text) > len("{}") {
		who += ","
	}
	return sql.NullString{String: who + string(text[1:]), Valid: true}, nil
}

func idOrNull(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }

// failed returns an error that names the operation without the server's text, which may quote values ("Data too long",
// "Incorrect string").
func failed(category Category, err error) error {
	operation := fmt.Sprintf("append category %d to activity log", category)
	var serverErr *mysql.MySQLError
	if errors.As(err, &serverErr) {
		return &refused{message: fmt.Sprintf("%s: database error %d", operation, serverErr.Number), cause: err}
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// refused hides the text of its cause, but keeps the cause for errors.As, so that deadlocks are still retried.
type refused struct {
	message string
	cause   error
}

func (r *refused) Error() string { return r.message }

func (r *refused) Unwrap() error { return r.cause }
