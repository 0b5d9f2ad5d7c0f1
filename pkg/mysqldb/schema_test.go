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

func TestASchemaOfAnotherReleaseIsTold(t *testing.T) {
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
			if err := mysqldb.Migrate(t.Context(), db, "sample", step.migrate.Files, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		err := step.check.Check(t.Context(), db)
		var differs *mysqldb.SchemaError
		if step.says == "" {
			if err != nil {
				t.Errorf("%s: %v", step.name, err)
			}
			continue
		}
		if !errors.As(err, &differs) || differs.Newer != step.newer || !strings.Contains(differs.Reason(), step.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}
