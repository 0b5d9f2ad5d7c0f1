package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/pressly/goose/v3"
)

// Schema holds a release's migrations of some tables of a service.
type Schema struct {
	Service string
	// Part is the package that owns the tables ("outbox"); empty for the service's own.
	Part  string
	Files fs.FS // goose SQL files
}

// versions returns the name of the table that records the applied migrations.
func (s Schema) versions() string {
	if s.Part != "" {
		return "goose_" + s.Part + "_" + s.Service
	}
	return "goose_" + s.Service
}

var createdTable = regexp.MustCompile("(?m)^CREATE TABLE (?:IF NOT EXISTS )?`?(\\w+)")

// tables returns the tables that the migrations create.
func (s Schema) tables() ([]string, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var tables []string
	for _, name := range names {
		text, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		for _, found := range createdTable.FindAllSubmatch(text, -1) {
			tables = append(tables, string(found[1]))
		}
	}
	return tables, nil
}

// createdWith matches a migration's CREATE TABLE statement, and createdColumn each column in it, one per line.
var (
	createdWith   = regexp.MustCompile("(?ms)^CREATE TABLE (?:IF NOT EXISTS )?`?(\\w+)`? \\(\n(.*?)^\\)")
	createdColumn = regexp.MustCompile("(?m)^  `?([a-z]\\w*)`? [A-Z]")
)

// columns returns the columns of the tables that the migrations create.
func (s Schema) columns() (map[string][]string, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	columns := map[string][]string{}
	for _, name := range names {
		text, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		for _, table := range createdWith.FindAllSubmatch(text, -1) {
			for _, column := range createdColumn.FindAllSubmatch(table[2], -1) {
				columns[string(table[1])] = append(columns[string(table[1])], string(column[1]))
			}
		}
	}
	return columns, nil
}

// requireColumns returns an error if a table lacks columns after the migrations. The migrations did not create it then,
// because a table of this name existed.
func (s Schema) requireColumns(ctx context.Context, db *sql.DB) error {
	columns, err := s.columns()
	if err != nil {
		return err
	}
	if err := RequireColumns(ctx, db, columns); err != nil {
		return fmt.Errorf("tables of %s were not made by its migrations: %w", s.name(), err)
	}
	return nil
}

func (s Schema) names() ([]string, error) {
	names, err := fs.Glob(s.Files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return names, nil
}

// SchemaError is returned if the tables are not those of this release; it states what to do. Its text contains only
// version numbers and names of the platform, so /health may show it, and no quotation marks, because the log would
// redact the quoted text.
type SchemaError struct {
	words string
	// Newer is set if a later release has already migrated. Migrations only add columns and tables, so this release can
	// work.
	Newer bool
}

// Error returns the text, which states what to do.
func (e *SchemaError) Error() string { return e.words }

// Reason returns the text, which is safe to show on /health.
func (e *SchemaError) Reason() string { return e.words }

// CheckSchemas returns nil if the tables of schemas exist and are those of this release, otherwise a *SchemaError or
// the error of a query. A *SchemaError is Newer only if no schema is older.
func CheckSchemas(ctx context.Context, q Querier, schemas []Schema) error {
	var newer error
	for _, s := range schemas {
		err := s.check(ctx, q)
		var differs *SchemaError
		if errors.As(err, &differs) && differs.Newer {
			newer, err = err, nil
		}
		if err != nil {
			return err
		}
		tables, err := s.tables()
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := hasTable(ctx, q, table); err != nil {
				return err
			}
		}
	}
	return newer
}

func hasTable(ctx context.Context, q Querier, table string) error {
	var one int
	err := q.QueryRowContext(ctx, "SELECT 1 FROM `"+table+"` LIMIT 1").Scan(&one)
	if IsNoTable(err) {
		return &SchemaError{words: fmt.Sprintf(
			"table %s is missing: check DB_DATABASE, then run the service's verb migrate", table)}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// check compares the version of the tables with that of this release.
func (s Schema) check(ctx context.Context, q Querier) error {
	_, want, err := s.numbers()
	if err != nil {
		return err
	}
	have, err := s.version(ctx, q)
	if err != nil {
		return err
	}
	of := s.name()
	switch {
	case have < want:
		return &SchemaError{words: fmt.Sprintf("the database's schema is older than this release of %s: it is at version %d,"+
			" and %d is needed: run %s migrate, and the service becomes ready without a restart", of, have, want, s.Service)}
	case have > want:
		return &SchemaError{Newer: true, words: fmt.Sprintf("the database's schema is newer than this release of %s: it is at"+
			" version %d, and this one was made for %d; this is expected during an upgrade and after a rollback; otherwise install the"+
			" newer release", of, have, want)}
	}
	return nil
}

// version returns the number of the database's last migration, 0 for a new database. It returns a *SchemaError if the
// number is below the baseline, the first migration of this release: no released version created such tables, and the
// baseline's statements would skip them.
func (s Schema) version(ctx context.Context, q Querier) (int64, error) {
	var stored sql.NullInt64
	err := q.QueryRowContext(ctx, "SELECT MAX(version_id) FROM `"+s.versions()+"` WHERE is_applied").Scan(&stored)
	if err != nil && !IsNoTable(err) {
		return 0, fmt.Errorf("read the version of the schema: %w", err)
	}
	first, _, err := s.numbers()
	if err != nil {
		return 0, err
	}
	if have := stored.Int64; have > 0 && have < first {
		return 0, &SchemaError{words: fmt.Sprintf("the database's schema of %s is older than version 1.0.0 of the platform: it is at"+
			" version %d, and upgrades begin at %d: migrate it with the revision before 1.0.0 first, or use a new database",
			s.name(), have, first)}
	}
	return stored.Int64, nil
}

func (s Schema) name() string {
	if s.Part == "" {
		return s.Service
	}
	return s.Service + " (" + s.Part + ")"
}

// numbers returns the numbers of the first and the last migration.
func (s Schema) numbers() (first, last int64, err error) {
	names, err := s.names()
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil {
			return 0, 0, fmt.Errorf("read migrations: %w", err)
		}
		if first == 0 || number < first {
			first = number
		}
		last = max(last, number)
	}
	return first, last, nil
}
