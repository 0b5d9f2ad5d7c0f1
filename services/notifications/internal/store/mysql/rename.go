package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/rename"
)

var _ rename.Store = (*Store)(nil)

func (s *Store) LeadRename(ctx context.Context, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, renameLock, work)
	return err
}

// Devices returns devices of all laboratories. Each is changed within the scope of its laboratory.
func (s *Store) Devices(ctx context.Context, after int64, limit int) ([]rename.Device, error) {
	list, err := mysqldb.Collect(ctx, s.db, "SELECT id, lab_id, token, generation, topics, pending_topics FROM FcmDevices"+
		" WHERE id > ? ORDER BY id LIMIT ?", []any{after, limit}, func(row mysqldb.Row, d *rename.Device) (err error) {
		d.Lists, err = scanLists(row.Scan, &d.ID, &d.LabID, &d.Token)
		return err
	})
	return list, mysqldb.Wrap("read devices", err)
}

func (s *Store) Change(
	ctx context.Context, lab authn.LabScope, token string, change func(device.Lists) (device.Lists, error),
) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		row := tx.QueryRowContext(ctx, "SELECT id, generation, topics, pending_topics FROM FcmDevices"+
			" WHERE token = ? AND lab_id = ? FOR UPDATE", token, lab.LabID())
		before, err := scanLists(row.Scan, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := change(before)
		switch {
		case errors.Is(err, device.ErrUnknownToken):
			_, err = tx.ExecContext(ctx, "DELETE FROM FcmDevices WHERE id = ?", id)
			return err
		case err != nil || after.Same(before):
			return err
		}
		return writeLists(ctx, tx, id, after)
	})
	return mysqldb.Wrap("change topics of a device", err)
}
