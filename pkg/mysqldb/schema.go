package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Schema is what a release of a service makes of its own tables: its migrations.
type Schema struct {
	Service string
	Files   fs.FS
}

// SchemaError says that the tables are not those of this release, and what to do. Its words hold nothing but numbers
// and names of ours, so /health may show them, and no quotation marks, which the log would take for values.
type SchemaError struct {
	words string
	// Newer is set when a later release has migrated already. Migrations only add, so this release goes on.
	Newer bool
}

// Error returns the words.
func (e *SchemaError) Error() string { return e.words }

// Reason implements httpserver's Reason: the words are safe to show.
func (e *SchemaError) Reason() string { return e.words }

// Check compares the version of the tables with that of the release. The error is a *SchemaError when they differ.
func (s Schema) Check(ctx context.Context, q Querier) error {
	want, err := s.wanted()
	if err != nil {
		return err
	}
	var stored sql.NullInt64
	err = q.QueryRowContext(ctx, "SELECT MAX(version_id) FROM `goose_"+s.Service+"` WHERE is_applied").Scan(&stored)
	if err != nil && !IsNoTable(err) {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	switch have := stored.Int64; {
	case have < want:
		return &SchemaError{words: fmt.Sprintf("the database's schema is older than this release of %s: it is at version %d,"+
			" and %d is needed: run %s migrate, then this becomes ready by itself", s.Service, have, want, s.Service)}
	case have > want:
		return &SchemaError{Newer: true, words: fmt.Sprintf("the database's schema is newer than this release of %s: it is at"+
			" version %d, and this one was made for %d; that is well during an upgrade and after a rollback, else install the"+
			" newer release", s.Service, have, want)}
	}
	return nil
}

// wanted returns the number of the last migration.
func (s Schema) wanted() (int64, error) {
	names, err := fs.Glob(s.Files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	last := int64(0)
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("read migrations: %w", err)
		}
		last = max(last, version)
	}
	return last, nil
}
