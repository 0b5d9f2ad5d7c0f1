package mysql_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/documents"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/kinds"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

func TestProvidersAreReadWithTheirNullsAsEvery(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	for range 2 { // migrating is idempotent
		if err := mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	source := mysql.New(db)
	if rows, err := source.Providers(t.Context()); err != nil || len(rows) != 0 {
		t.Fatalf("got %v, %v, want 0", rows, err)
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
	for i := range got { // MySQL changes the formatting of JSON
		var compact bytes.Buffer
		if err := json.Compact(&compact, got[i].Settings); err != nil {
			t.Fatal(err)
		}
		got[i].Settings = compact.Bytes()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheDocumentedRowsAreTaken executes the statement in docs/design/taskqueue-operating.md and checks that its rows
// are valid.
func TestTheDocumentedRowsAreTaken(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(documents.Read(t, "taskqueue-operating.md"), "```sql\n")
	statement, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/design/taskqueue-operating.md has no SQL")
	}
	db := mysqltest.New(t)
	if err := mysqldb.Migrate(t.Context(), db, migrations.Schemas(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), strings.TrimSuffix(strings.TrimSpace(statement), ";")); err != nil {
		t.Fatal(err)
	}
	registry := metrics.NewProviders(prometheus.NewRegistry())
	secrets := provider.Directory{Root: fstest.MapFS{"sms_in": {Data: []byte("x")}, "twilio_token": {Data: []byte("x")}}}
	set := route.NewSet(route.Config{Observer: registry, Log: slog.New(slog.DiscardHandler), Factory: kinds.Factory(provider.Deps{Secrets: secrets}, nil)})
	if err := set.Load(t.Context(), mysql.New(db)); err != nil {
		t.Fatal(err)
	}
	if !set.Known(job.SMS, "gateway-in") || !set.Known(job.SMS, "twilio") || set.Serves(job.Email, 1) {
		t.Error("the rows are not in force")
	}
}
