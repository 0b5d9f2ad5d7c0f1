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
	Captured bool // its rows are captured, so that the connectors stop; otherwise the table is skipped
	Part     string
}

func (u Unreadable) String() string { return fmt.Sprintf("table %s has %s", u.Table, u.Part) }

// unreadableParts are the parts of table definitions that servers accept but Debezium 3.5 cannot parse. A test with the
// real connectors checks the list.
var unreadableParts = []struct {
	found *regexp.Regexp
	what  string
}{
	{regexp.MustCompile("(?i)` inet4\\b"), "a column of type INET4"},
	{regexp.MustCompile("(?i)` inet6\\b"), "a column of type INET6"},
	{regexp.MustCompile(`(?i)\bCOMPRESSED\b`), "a COMPRESSED column"},
	{regexp.MustCompile(`(?i)\bWITHOUT OVERLAPS\b`), "a key WITHOUT OVERLAPS"},
}

// quoted matches quoted parts of a definition: comments, defaults and names.
var quoted = regexp.MustCompile("'(?:[^'\\\\]|\\\\.|'')*'|`(?:[^`]|``)*`")

// rowFormat matches a table option. One of its values is also a column option.
var rowFormat = regexp.MustCompile(`(?i)\bROW_FORMAT\s*=\s*\S+`)

// UnreadableTables returns the tables of the database that the connectors cannot read.
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
		if mysqldb.IsNoTable(err) { // the table has been dropped since
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

// unreadablePart returns the part of a definition that the connectors cannot read, or "" if there is none.
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
