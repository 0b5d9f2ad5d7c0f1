package mysql_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

func TestProvidersAreReadWithTheirNullsAsEvery(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	for range 2 { // migrating may be repeated
		if err := mysqldb.Migrate(t.Context(), db, "taskqueue", migrations.Files, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	source := mysql.NewProviders(db)
	if rows, err := source.Providers(t.Context()); err != nil || len(rows) != 0 {
		t.Fatalf("%v, %v", rows, err)
	}
	const insert = `INSERT INTO tq_provider (channel, task_type, country_code, provider, position, settings, is_disabled) VALUES
		('sms', NULL, 91, 'india', 1, '{"kind":"http"}', 0), ('sms', 1, NULL, 'twilio', 0, '{}', 1)`
	if _, err := db.ExecContext(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	got, err := source.Providers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []route.Row{{ID: 1, Channel: "sms", CountryCode: 91, Provider: "india", Position: 1, Settings: json.RawMessage(`{"kind":"http"}`)},
		{ID: 2, Channel: "sms", TaskType: 1, Provider: "twilio", Settings: json.RawMessage(`{}`), Disabled: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
