// Package migrations owns the tables of the external edit service, as goose SQL files.
package migrations

import (
	"embed"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
)

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS

// Schemas are all tables of the service, in the order in which they are made.
func Schemas() []mysqldb.Schema {
	const name = "externaledit"
	return []mysqldb.Schema{outbox.Schema(name), idempotency.Schema(name), {Service: name, Files: Files}}
}
