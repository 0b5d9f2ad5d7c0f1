// Package migrations owns the tables of the rerun service, as goose SQL files.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS

// Schemas are all tables of the service, in the order in which they are made.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{outbox.Schema("rerun"), {Service: "rerun", Files: Files}}
}
