// Package migrations holds the tables of the rerun service, as goose SQL files. Reruns themselves are in the document
// store.
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

// Schemas lists all tables of the service, in the order of creation.
func Schemas() []mysqldb.Schema {
	return []mysqldb.Schema{outbox.Schema("rerun"), {Service: "rerun", Files: Files}}
}
