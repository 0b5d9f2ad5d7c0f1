// Package migrations owns the tables of change capture, as goose SQL files. The pipeline is in its
// migration phase while user_meta lacks the columns of a person; see package phase.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS

// Schemas are all tables of the service, in the order in which they are made.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{{Service: "cdc", Files: Files}}
}
