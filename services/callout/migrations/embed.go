// Package migrations embeds the SQL files (goose) that create the tables of the callout service.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Files holds the migrations in the order in which they are applied.
//
//go:embed *.sql
var Files embed.FS

// Schemas returns all tables of the service in the order in which they are created.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{outbox.Schema("callout"), {Service: "callout", Files: Files}}
}
