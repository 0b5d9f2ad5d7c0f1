package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
)

// Add implements notify.Store.
func (s *Store) Add(
	ctx context.Context, lab authn.LabScope, n notify.New, push func(id int64) (outbox.Event, error), now time.Time,
) (id int64, added bool, err error) {
	message, err := json.Marshal(n.Message)
	if err != nil {
		return 0, false, fmt.Errorf("encode message: %w", err)
	}
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		id, added = 0, false
		result, err := tx.ExecContext(
			ctx,
			"INSERT INTO Notifications (lab_id, org_id, lab_user_id, doctor_id, notification_type_id, message,"+
				" context, topic, dedupe_key, created_at) VALUES (?,?,?,?,?,?,?,?,?,?)",
			lab.LabID(),
			null(n.OrgID),
			null(n.LabUserID),
			null(n.DoctorID),
			n.TypeID,
			string(message),
			string(n.Context),
			n.Topic,
			sql.NullString{String: n.DedupeKey, Valid: n.DedupeKey != ""},
			now.Unix(),
		)
		if mysqldb.IsDuplicate(err) {
			return tx.QueryRowContext(ctx, "SELECT id FROM Notifications WHERE dedupe_key = ? AND lab_id = ?", n.DedupeKey, lab.LabID()).
				Scan(&id)
		}
		if err != nil {
			return err
		}
		if id, err = result.LastInsertId(); err != nil {
			return err
		}
		event, err := push(id)
		if err != nil {
			return err
		}
		added = true
		_, err = s.outbox.Insert(ctx, tx, now, event)
		return err
	})
	return id, added, mysqldb.Wrap("save notification", err)
}
