package mysqldb_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func release(versions ...string) mysqldb.Schema {
	files := fstest.MapFS{}
	for _, v := range versions {
		files[v+"_table.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE t" + v + " (id INT);\n")}
	}
	return mysqldb.Schema{Service: "sample", Files: files}
}

func TestCheckSchemasReportsAnotherRelease(t *testing.T) {
	t.Parallel()
	db, _ := mysqltest.Open(t)
	first, second := release("00001"), release("00001", "00002")
	for _, step := range []struct {
		name    string
		migrate *mysqldb.Schema
		check   mysqldb.Schema
		newer   bool
		says    string
	}{
		{"nothing there", nil, first, false, "it is at version 0, and 1 is needed: run sample migrate"},
		{"the same", &first, first, false, ""},
		{"an older one", nil, second, false, "it is at version 1, and 2 is needed: run sample migrate"},
		{"the same again", &second, second, false, ""},
		{"a newer one", nil, first, true, "it is at version 2, and this one was made for 1"},
	} {
		if step.migrate != nil {
			if err := mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{*step.migrate}, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		err := mysqldb.CheckSchemas(t.Context(), db, []mysqldb.Schema{step.check})
		var differs *mysqldb.SchemaError
		if step.says == "" {
			if err != nil {
				t.Errorf("%s: CheckSchemas = %v, want nil", step.name, err)
			}
			continue
		}
		if !errors.As(err, &differs) || differs.Newer != step.newer || !strings.Contains(differs.Reason(), step.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: CheckSchemas = %v, want one line with %q, newer = %t", step.name, err, step.says, step.newer)
		}
	}
}

// The first file of a release has the number of the last migration before the release.
func TestUpgradesBeginAtTheBaseline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  []string
		refused bool
	}{
		"a new database":           {nil, false},
		"at the baseline":          {[]string{"00001", "00002", "00003"}, false},
		"from before the baseline": {[]string{"00001", "00002"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, quiet := mysqltest.New(t), slog.New(slog.DiscardHandler)
			if c.before != nil {
				if err := mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{release(c.before...)}, quiet); err != nil {
					t.Fatal(err)
				}
			}
			now := release("00003", "00004")
			for what, err := range map[string]error{
				"migrate": mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{now}, quiet),
				"check":   mysqldb.CheckSchemas(t.Context(), db, []mysqldb.Schema{now}),
			} {
				const says = "upgrades begin at 3: migrate it with the revision before 1.0.0 first"
				if refused := err != nil && strings.Contains(err.Error(), says); refused != c.refused || !c.refused && err != nil {
					t.Errorf("%s: error = %v, refused should be %v", what, err, c.refused)
				}
			}
		})
	}
}

func TestPartHasItsOwnVersionAndTableName(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	own, part := release("00001"), release("00001", "00002")
	part.Part, part.Files = "mail", mysqldb.Renamed(part.Files, "TABLE t", "TABLE mail_")
	schemas := []mysqldb.Schema{part, own}
	err := mysqldb.CheckSchemas(t.Context(), db, schemas)
	if err == nil || !strings.Contains(err.Error(), "release of sample (mail): it is at version 0, and 2 is needed: run sample migrate") {
		t.Errorf("CheckSchemas before Migrate = %v, want the part's migrations missing", err)
	}
	if err := mysqldb.Migrate(t.Context(), db, schemas, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO mail_00002 SELECT 1 FROM t00001")
	if err := mysqldb.CheckSchemas(t.Context(), db, schemas); err != nil {
		t.Error(err)
	}
	exec(t, db, "DROP TABLE mail_00001")
	if err := mysqldb.CheckSchemas(t.Context(), db, schemas); err == nil || !strings.Contains(err.Error(), "table mail_00001 is missing") {
		t.Errorf("CheckSchemas without a table = %v, want it named", err)
	}
}

// A table of another program may have the name of one of the service's tables. The baseline's statements then skip it,
// so the migration must fail.
func TestMigrateRefusesATableThatLacksColumns(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE item (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"00001_item.sql": {Data: []byte("-- +goose Up\nCREATE TABLE IF NOT EXISTS item (\n" +
		"  id INT PRIMARY KEY,\n  owner INT NOT NULL,\n  KEY ix_item (owner)\n);\n")}}
	schemas := []mysqldb.Schema{{Service: "sample", Files: files}}
	err := mysqldb.Migrate(t.Context(), db, schemas, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "ALTER TABLE `item` ADD COLUMN `owner`") {
		t.Errorf("Migrate = %v, want a refusal that names item.owner", err)
	}
}
