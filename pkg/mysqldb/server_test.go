package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
)

// versions is a database driver that only returns a version.
type versions string

func (v versions) Connect(context.Context) (driver.Conn, error) { return v, nil }
func (v versions) Driver() driver.Driver                        { return nil }
func (v versions) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (v versions) Close() error                                 { return nil }
func (v versions) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (v versions) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &oneRow{text: string(v)}, nil
}

type oneRow struct {
	text string
	read bool
}

func (*oneRow) Columns() []string { return []string{"VERSION()"} }
func (*oneRow) Close() error      { return nil }
func (r *oneRow) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, row[0] = true, r.text
	return nil
}

func TestDetectServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"10.11.19-MariaDB-0+deb12u1": "MariaDB 10.11", "5.5.5-10.6.1-MariaDB": "MariaDB 10.6", "11.4.2-MariaDB-log": "MariaDB 11.4",
		"9.7.4": "MySQL 9.7", "8.0.36-28.1": "MySQL 8.0", "8.4.0-commercial": "MySQL 8.4",
		"5.7.44-log":     "the database is MySQL 5.7: upgrade it to MySQL 8.0 or later",
		"10.5.8-MariaDB": "the database is MariaDB 10.5: upgrade it to MariaDB 10.6 or later",
		"unknown":        "not one of MySQL or MariaDB", "x.y.z": "not one of MySQL or MariaDB",
	} {
		db := sql.OpenDB(versions(version))
		server, err := DetectServer(t.Context(), db)
		got := server.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("DetectServer with %s = %s, want %s", version, got, want)
		}
		_ = db.Close()
	}
}
