// Package migrations contains the tables of the external edit service as goose SQL files.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Files holds the migrations in the order of their application.
//
//go:embed *.sql
var Files embed.FS

// Schemas returns all tables of the service in the order in which they are created.
func Schemas() []mysqldb.Schema {
	const name = "externaledit"
	return []mysqldb.Schema{outbox.Schema(name), idempotency.Schema(name), {Service: name, Files: Files}}
}
