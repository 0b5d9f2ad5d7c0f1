package legacydb

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed schema.sql
var schema string

// Execer is the part of *sql.DB, *sql.Conn and *sql.Tx that Create needs.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Create makes every legacy table that the current database lacks. It never changes a table that exists, so
// it may run at every start and from several processes at once.
func Create(ctx context.Context, db Execer) error {
	for _, statement := range Statements() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create legacy table: %w (statement %.80q)", err, statement)
		}
	}
	return nil
}

// Statements returns the DDL, one CREATE TABLE IF NOT EXISTS a string, in an order that can be executed.
func Statements() []string { return Split(schema) }

// Split returns the statements of text, which may have comments but no semicolon inside a literal.
func Split(text string) []string {
	var statements []string
	for part := range strings.SplitSeq(withoutComments(text), ";") {
		if part = strings.TrimSpace(part); part != "" {
			statements = append(statements, part)
		}
	}
	return statements
}

// Tables returns the names of the legacy tables in the order of the DDL.
func Tables() []string {
	name := regexp.MustCompile("^CREATE TABLE IF NOT EXISTS `([^`]+)`")
	statements := Statements()
	tables := make([]string, 0, len(statements))
	for _, statement := range statements {
		if match := name.FindStringSubmatch(statement); match != nil {
			tables = append(tables, match[1])
		}
	}
	return tables
}

// withoutComments drops "-- …" to the end of each line: a comment may hold a semicolon.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, commented := strings.Cut(line, "--")
		b.WriteString(code)
		if commented {
			b.WriteString("\n")
		}
	}
	return b.String()
}
