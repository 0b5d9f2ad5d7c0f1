// Package migrations contains the tables of the rerun service as goose SQL files. Reruns themselves are in the document
// store.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Files holds the migrations in the order of their application.
//
//go:embed *.sql
var Files embed.FS

// Schemas returns all tables of the service in the order in which they are created.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{outbox.Schema("rerun"), {Service: "rerun", Files: Files}}
}
