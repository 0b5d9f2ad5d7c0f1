package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Send makes e durable, unless a message with its DedupeKey waits.
func (s *Store) Send(ctx context.Context, e outbox.Event) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		_, err := s.outbox.Insert(ctx, tx, s.clock.Now(), e)
		return err
	})
	return wrap("send", err)
}
