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

// Execer is implemented by *sql.DB, *sql.Conn and *sql.Tx.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Create creates every legacy table that is missing in the current database. It never changes an existing table, so it
// may run at every start and in several processes at once.
func Create(ctx context.Context, db Execer) error {
	for _, statement := range Statements() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create legacy table: %w (statement %.80q)", err, statement)
		}
	}
	return nil
}

// Statements returns the DDL, one CREATE TABLE IF NOT EXISTS per string, in an executable order.
func Statements() []string { return Split(schema) }

// Split returns the statements of text. text may contain comments, but no semicolon inside a literal.
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

// withoutComments removes "-- …" up to the end of each line, because a comment may contain a semicolon.
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
