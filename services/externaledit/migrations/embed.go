// Package migrations owns the tables of the external edit service, as goose SQL files.
package migrations

import "embed"

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS
