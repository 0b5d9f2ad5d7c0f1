package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// Unreadable is a table whose definition the connectors cannot read.
type Unreadable struct {
	Table    string
	Captured bool // its rows are read: then the connectors stop. Any other table is skipped
	Part     string
}

func (u Unreadable) String() string { return fmt.Sprintf("table %s has %s", u.Table, u.Part) }

// unreadableParts are what the grammar of Debezium 3.5 does not know of the definitions that servers accept. A test
// of the real connectors compares.
var unreadableParts = []struct {
	found *regexp.Regexp
	what  string
}{
	{regexp.MustCompile("(?i)` inet4\\b"), "a column of type INET4"},
	{regexp.MustCompile("(?i)` inet6\\b"), "a column of type INET6"},
	{regexp.MustCompile(`(?i)\bCOMPRESSED\b`), "a COMPRESSED column"},
	{regexp.MustCompile(`(?i)\bWITHOUT OVERLAPS\b`), "a key WITHOUT OVERLAPS"},
}

// quoted is what a definition quotes: comments and defaults, and names.
var quoted = regexp.MustCompile("'(?:[^'\\\\]|\\\\.|'')*'|`(?:[^`]|``)*`")

// rowFormat is an option of tables, one value of which is also an option of columns.
var rowFormat = regexp.MustCompile(`(?i)\bROW_FORMAT\s*=\s*\S+`)

// UnreadableTables lists the tables of the database that the connectors cannot read.
func (s *Store) UnreadableTables(ctx context.Context) ([]Unreadable, error) {
	tables, err := mysqldb.Collect(ctx, s.db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"+
		" AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY table_name", nil,
		func(row mysqldb.Row, name *string) error { return row.Scan(name) })
	if err != nil {
		return nil, s.fault(ctx, wrap("list tables", err))
	}
	captured, list := connectors.Tables(), []Unreadable{}
	for _, table := range tables {
		var name, definition string
		show := "SHOW CREATE TABLE `" + strings.ReplaceAll(table, "`", "``") + "`"
		err := s.db.QueryRowContext(ctx, show).Scan(&name, &definition)
		if mysqldb.IsNoTable(err) { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, s.fault(ctx, wrap("read the definition of a table", err))
		}
		if part := unreadablePart(definition); part != "" {
			list = append(list, Unreadable{Table: table, Captured: slices.Contains(captured, table), Part: part})
		}
	}
	return list, nil
}

// unreadablePart returns what the connectors cannot read of a definition; "" when they can.
func unreadablePart(definition string) string {
	definition = quoted.ReplaceAllStringFunc(definition, func(part string) string { return part[:1] + part[len(part)-1:] })
	definition = rowFormat.ReplaceAllString(definition, "")
	for _, part := range unreadableParts {
		if part.found.MatchString(definition) {
			return part.what
		}
	}
	return ""
}
