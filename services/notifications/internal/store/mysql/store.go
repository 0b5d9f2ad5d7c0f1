// Package mysql stores the data of notifications: types and switches, the inbox, read states and activities, devices,
// and the outbox. Of the platform's tables, it reads labs, labUser and labReportRelation.
package mysql

import (
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/coalesce"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/notifications/internal/delivery"
	"github.com/labplatform/labplatform/services/notifications/internal/device"
	"github.com/labplatform/labplatform/services/notifications/internal/inbox"
	"github.com/labplatform/labplatform/services/notifications/internal/live"
	"github.com/labplatform/labplatform/services/notifications/internal/notification"
	"github.com/labplatform/labplatform/services/notifications/internal/notify"
	"github.com/labplatform/labplatform/services/notifications/internal/preference"
	"github.com/labplatform/labplatform/services/notifications/internal/sweep"
	"github.com/labplatform/labplatform/services/notifications/internal/withdraw"
)

// OutboxTable is the name of the service's outbox.
const OutboxTable = "outbox_notifications"

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct {
	db     *sql.DB
	outbox outbox.Table
	clock  clock.Clock
	// additions combines concurrent triggers of a laboratory in shared statements. The key is the laboratory's id.
	additions  coalesce.Reads[int64, *addition, struct{}]
	kinds      coalesce.Reads[sameKind, struct{}, notification.Kind]
	subscribed coalesce.Reads[sameTopics, struct{}, notify.Devices]
}

var (
	_ delivery.Store   = (*Store)(nil)
	_ device.Reader    = (*Store)(nil)
	_ device.Writer    = (*Store)(nil)
	_ inbox.Reader     = (*Store)(nil)
	_ inbox.Writer     = (*Store)(nil)
	_ live.Changes     = (*Store)(nil)
	_ live.Store       = (*Store)(nil)
	_ notify.Store     = (*Store)(nil)
	_ preference.Store = (*Store)(nil)
	_ sweep.Store      = (*Store)(nil)
	_ withdraw.Store   = (*Store)(nil)
)

// sameKind identifies a type of a laboratory.
type sameKind struct{ labID, typeID int64 }

// sameTopics identifies topics of a laboratory.
type sameTopics struct {
	labID  int64
	topics string // separated by spaces
}

// New returns a store over db. The caller closes db.
func New(db *sql.DB, c clock.Clock) (*Store, error) {
	table, err := outbox.NewTable(OutboxTable)
	if err != nil {
		return nil, fmt.Errorf("notifications store: %w", err)
	}
	return &Store{db: db, outbox: table, clock: c}, nil
}

// LegacyColumns returns the columns of the platform's tables that the service reads.
func LegacyColumns() map[string][]string {
	return map[string][]string{
		"labs": {"id", "timezone"}, "labUser": {"id", "labId_id", "isAdmin"},
		"labReportRelation": {"id", "labId_id", "billId_id", "dismissed", "sampleRedrawFlag"},
	}
}

// null returns NULL for an id of 0.
func null(id int64) sql.NullInt64 { return sql.NullInt64{Int64: id, Valid: id != 0} }
