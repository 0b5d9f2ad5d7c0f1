// Package migrations contains the tables of the cell counter service as goose SQL files.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Files holds the migrations in the order of their application.
//
//go:embed *.sql
var Files embed.FS

// Schemas returns all tables of the service in the order in which they are created.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{{Service: "cellcounter", Files: Files}}
}
