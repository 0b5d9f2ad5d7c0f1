package seed

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// openMySQL opens a pool of at most two connections without foreign key checks, so that rows may come in any order. Its
// sessions keep an explicit id 0 and reject values that do not fit their column.
func openMySQL(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("MySQL DSN: %w", err)
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.InterpolateParams = true
	config.Params["time_zone"] = "'+00:00'"
	config.Params["sql_mode"] = "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'"
	config.Params["foreign_key_checks"] = "0"
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("MySQL DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(2)
	return db, nil
}

type column struct {
	dataType  string // data_type of information_schema, in lower case
	generated bool
}

// columns maps lower-case names to the columns of a table. MySQL ignores case in column names.
type columns map[string]column

// validateTables checks every table and column name of the fixture before anything is written.
func validateTables(ctx context.Context, db *sql.DB, tables []Table) (map[string]columns, error) {
	known := map[string]columns{}
	for _, table := range tables {
		found, err := readColumns(ctx, db, table.Name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("unknown table %q", table.Name)
		}
		known[table.Name] = found
		for i, row := range table.Rows {
			if err := validateRow(found, table.Name, row); err != nil {
				return nil, fmt.Errorf("%w (row %d)", err, i)
			}
		}
	}
	return known, nil
}

func validateRow(known columns, table string, row Row) error {
	for _, name := range row.columns() {
		found, ok := known[strings.ToLower(name)]
		switch {
		case !ok:
			return fmt.Errorf("unknown column %q of table %q", name, table)
		case found.generated:
			return fmt.Errorf("column %q of table %q is generated: leave it out", name, table)
		}
		if _, nested := row[name].(json.RawMessage); nested && !found.takesJSON() {
			return fmt.Errorf("column %q of table %q takes no object or list (it is %s)", name, table, found.dataType)
		}
	}
	return nil
}

// takesJSON reports whether the column can hold an object or list. MariaDB reports its JSON type as longtext.
func (c column) takesJSON() bool { return c.dataType == "json" || c.dataType == "longtext" }

func readColumns(ctx context.Context, db *sql.DB, table string) (columns, error) {
	rows, err := db.QueryContext(ctx, "SELECT table_name, column_name, data_type, extra FROM information_schema.columns"+
		" WHERE table_schema = DATABASE() AND table_name = ?", table)
	if err != nil {
		return nil, fmt.Errorf("read columns of %s: %w", table, err)
	}
	defer rows.Close()
	found := columns{}
	for rows.Next() {
		var owner, name, dataType, extra string
		if err := rows.Scan(&owner, &name, &dataType, &extra); err != nil {
			return nil, fmt.Errorf("read columns of %s: %w", table, err)
		}
		if owner != table { // information_schema may ignore case, but the tables are files with case-sensitive names
			continue
		}
		generated := strings.Contains(strings.ToUpper(extra), "GENERATED") &&
			!strings.Contains(strings.ToUpper(extra), "DEFAULT_GENERATED")
		found[strings.ToLower(name)] = column{dataType: strings.ToLower(dataType), generated: generated}
	}
	return found, rows.Err()
}

// columns returns the names in a fixed order, so that messages and statements do not vary.
func (r Row) columns() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// writeTables replaces the fixture's rows inside tx.
func writeTables(ctx context.Context, tx *sql.Tx, fixture *Fixture, known map[string]columns) error {
	if fixture.Clear {
		for _, table := range fixture.MySQL { // DELETE, not TRUNCATE: change capture needs row events
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+quote(table.Name)); err != nil {
				return fmt.Errorf("clear table %s: %w", table.Name, err)
			}
		}
	}
	for _, table := range fixture.MySQL {
		for i, row := range table.Rows {
			statement, args := replaceStatement(table.Name, row, known[table.Name])
			if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
				return fmt.Errorf("table %s, row %d: %w", table.Name, i, err)
			}
		}
	}
	return nil
}

func replaceStatement(table string, row Row, known columns) (string, []any) {
	names := row.columns()
	quoted := make([]string, len(names))
	args := make([]any, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
		args[i] = sqlValue(row[name], known[strings.ToLower(name)])
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(names)), ",")
	return "REPLACE INTO " + quote(table) + " (" + strings.Join(quoted, ",") + ") VALUES (" + marks + ")", args
}

// sqlValue passes numbers and JSON as the text of the file, which the server converts without rounding.
func sqlValue(value any, of column) any {
	switch v := value.(type) {
	case json.Number:
		return v.String()
	case json.RawMessage:
		return string(v)
	case string:
		return timeText(v, of.dataType)
	default:
		return v
	}
}

// timeText converts an RFC 3339 time to the UTC text of a datetime or timestamp column. Other text is returned
// unchanged.
func timeText(text, dataType string) string {
	if dataType != "datetime" && dataType != "timestamp" {
		return text
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return instant.UTC().Format("2006-01-02 15:04:05.000000")
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
