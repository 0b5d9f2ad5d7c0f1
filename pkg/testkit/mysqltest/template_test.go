package mysqltest_test

import (
	"database/sql"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// template contains what migrations use: a generated column, a foreign key to a table that follows in alphabetical
// order, rows with quotation marks and NULL, and a platform's table.
var template = mysqltest.Template{
	Platform: map[string][]string{"labs": {"id", "labName"}},
	Schemas: []mysqldb.Schema{{Service: "test", Files: fstest.MapFS{"00001_test.sql": {Data: []byte(`-- +goose Up
CREATE TABLE zoo (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NULL, folded VARCHAR(20) AS (LOWER(name)) STORED,
  document JSON NULL) DEFAULT CHARSET=utf8mb4;
CREATE TABLE animal (zoo INT NOT NULL, FOREIGN KEY (zoo) REFERENCES zoo (id));
INSERT INTO zoo (id, name, document) VALUES (7, 'it''s a\\b ö', '{"a": "b"}'), (8, NULL, NULL);
INSERT INTO animal VALUES (7);
`)}}}},
}

func TestCopyHasTheTablesAndRowsOfTheTemplate(t *testing.T) {
	t.Parallel()
	first, second := template.New(t), template.New(t)
	for _, statement := range []string{
		"INSERT INTO zoo (name) VALUES ('new')", "INSERT INTO labs (id, labName) VALUES (1, 'x')", "DELETE FROM animal",
	} {
		if _, err := first.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for db, want := range map[*sql.DB]string{
		first:  "7 it's a\\b ö it's a\\b ö b, 8 NULL NULL NULL, 9 new new NULL; 0 animals, 1 laboratories, version 1",
		second: "7 it's a\\b ö it's a\\b ö b, 8 NULL NULL NULL; 1 animals, 0 laboratories, version 1",
	} {
		if got := content(t, db); got != want {
			t.Errorf("content = %s\nwant      %s", got, want)
		}
	}
	if _, err := second.ExecContext(t.Context(), "INSERT INTO animal VALUES (99)"); err == nil {
		t.Error("INSERT that violates a foreign key = nil, want an error")
	}
	if err := mysqldb.CheckSchemas(t.Context(), second, template.Schemas); err != nil {
		t.Errorf("CheckSchemas of the copy = %v, want nil", err)
	}
}

func content(t *testing.T, db *sql.DB) string {
	t.Helper()
	var zoo string
	var animals, labs, version int
	row := db.QueryRowContext(t.Context(), `SELECT (SELECT GROUP_CONCAT(CONCAT_WS(' ', id, COALESCE(name, 'NULL'),
  COALESCE(folded, 'NULL'), COALESCE(JSON_UNQUOTE(JSON_EXTRACT(document, '$.a')), 'NULL')) ORDER BY id SEPARATOR ', ') FROM zoo),
  (SELECT COUNT(*) FROM animal), (SELECT COUNT(*) FROM labs), (SELECT MAX(version_id) FROM goose_test)`)
	if err := row.Scan(&zoo, &animals, &labs, &version); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s; %d animals, %d laboratories, version %d", zoo, animals, labs, version)
}

func TestOnlyTheNamedTablesOfThePlatformExist(t *testing.T) {
	t.Parallel()
	_, err := template.New(t).ExecContext(t.Context(), "SELECT 1 FROM billing")
	if !mysqldb.IsNoTable(err) {
		t.Errorf("SELECT from an unnamed table: error = %v, want a missing table", err)
	}
}

// BenchmarkTemplate measures the time to create a test's database.
func BenchmarkTemplate(b *testing.B) {
	template.New(b)
	for b.Loop() {
		template.New(b)
	}
}
