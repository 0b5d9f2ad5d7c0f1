// Package migrations owns the tables of change capture, as goose SQL files. Before the last one has run the pipeline
// is in its migration phase; see package phase.
package migrations

import "embed"

// Files holds the migrations in order.
//
//go:embed *.sql
var Files embed.FS
