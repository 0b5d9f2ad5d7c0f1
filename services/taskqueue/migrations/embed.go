// Package migrations embeds the SQL files (goose) that create the tables of the taskqueue service.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS

// Schemas returns all tables of the service in the order of creation.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{{Service: "taskqueue", Files: Files}}
}
