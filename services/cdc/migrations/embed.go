// Package migrations embeds the SQL files (goose) that create the tables of change capture. As long as user_meta lacks
// the columns of a person, the pipeline is in its migration phase; see package phase.
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
	return []mysqldb.Schema{{Service: "cdc", Files: Files}}
}
