package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/tracing"
)

const (
	traceKey     = "Bearer traces-of-capture"
	followedName = "Yamuna Tracewell"
)

// TestABatchIsFollowedToWhatItWrote sends the consumer's spans to a collector. It expects the trace of the batch that
// changed a patient, with the statements that wrote the row, and of the batch of that row, with the request that
// indexed it.
func TestABatchIsFollowedToWhatItWrote(t *testing.T) {
	collector, err := tracing.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer collector.Close()
	cdc := replaced(t, map[string]string{
		"CDC_OPENTELEMETRY_ENDPOINT": collector.Address, "CDC_OPENTELEMETRY_API_KEY": traceKey,
		"CDC_ERROR_REPORTING_SAMPLE_RATE": "1", "CDC_LOG_LEVEL": "DEBUG",
	})
	defer replaced(t, nil)
	db := database(t)
	await.Nil(t, "the end of the walk over all patients, which could write the row first", func() error {
		var waits bool
		if err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM cdc_walk)").Scan(&waits); err != nil || !waits {
			return err
		}
		return errors.New("patients are still computed again")
	})
	if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (941001, 12, ?)", followedName); err != nil {
		t.Fatal(err)
	}
	var rows, index tracing.Tree
	await.Nil(t, "both traces", func() (err error) {
		rows, err = treeOf(collector.All(), "process userDetails", "INSERT user_meta")
		if err == nil {
			index, err = treeOf(collector.All(), "process user_meta", "bulk")
		}
		return err
	})
	t.Logf("to user_meta\n%s", rows.String(""))
	t.Logf("to the index\n%s", index.String(""))
	expect(t, rows, "process userDetails", otlp.Span_SPAN_KIND_CONSUMER, "messaging.system=kafka", "messaging.operation.type=process",
		"messaging.destination.name=lab.lab.userDetails")
	expect(t, rows, "INSERT user_meta", otlp.Span_SPAN_KIND_CLIENT, "db.system.name=mysql", "db.query.summary=INSERT user_meta")
	expect(t, index, "process user_meta", otlp.Span_SPAN_KIND_CONSUMER, "messaging.destination.name=lab.lab.user_meta")
	expect(t, index, "bulk", otlp.Span_SPAN_KIND_CLIENT, "db.system=elasticsearch", "db.operation=bulk")
	for _, s := range append(rows.Spans(), index.Spans()...) {
		if err := s.CheckOrigin(traceKey, followedName, "Yamuna"); err != nil {
			t.Error(err)
		}
	}
	for _, trace := range []string{rows.Spans()[0].Trace, index.Spans()[0].Trace} {
		lines, err := tracing.LogLines(filepath.Join(platform.Dir, "logs", "cdc.log"), trace)
		if err != nil || !slices.Contains(lines, "batch done") {
			t.Errorf("the log's lines of trace %s: %q, %v", trace, lines, err)
		}
	}
	checkExemplars(t, cdc, collector)
}

// replaced restarts the platform's consumer with changed settings, nil for its own, and waits until it is ready.
func replaced(t *testing.T, change map[string]string) *consumer {
	t.Helper()
	if err := platform.Stop("cdc"); err != nil {
		t.Fatal(err)
	}
	if err := platform.Start("cdc", change); err != nil {
		t.Fatal(err)
	}
	c := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "readiness of the consumer", func() error {
		_, err := fetch(http.MethodGet, c.http+"/ready", "")
		return err
	})
	return c
}

// treeOf returns a trace that has a root with the first name, and a span with the second.
func treeOf(spans []tracing.Span, root, within string) (tracing.Tree, error) {
	for _, s := range spans {
		if s.Name != root {
			continue
		}
		tree := tracing.Grow(s.Trace, spans)
		if slices.ContainsFunc(tree.Spans(), func(s tracing.Span) bool { return s.Name == within }) {
			return tree, nil
		}
	}
	return tracing.Tree{}, fmt.Errorf("of %d spans none is %q with a %q below it", len(spans), root, within)
}

func expect(t *testing.T, tree tracing.Tree, name string, kind otlp.Span_SpanKind, attributes ...string) {
	t.Helper()
	if !slices.ContainsFunc(tree.Spans(), func(s tracing.Span) bool {
		return s.Name == name && s.Kind == kind && s.Has(attributes...)
	}) {
		t.Errorf("no %v span %q with %q", kind, name, attributes)
		for _, s := range tree.Spans() {
			t.Logf("%v %s %v", s.Kind, s.Name, s.Attributes)
		}
	}
}

// exemplar matches an exemplar of a bucket of the indexing batches, with its trace id.
var exemplar = regexp.MustCompile(`cdc_batch_seconds_bucket\{[^}]*topic="user_meta"[^}]*\}.*# \{trace_id="([0-9a-f]+)"\}`)

// checkExemplars requests metrics as Prometheus does, because only OpenMetrics has exemplars. There must be some, and
// each must belong to a trace that was sent. A certain trace cannot be expected, because later batches replace the
// exemplars of earlier ones.
func checkExemplars(t *testing.T, cdc *consumer, collector *tracing.Collector) {
	t.Helper()
	await.Nil(t, "traces beside the measurements", func() error {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, cdc.http+"/metrics", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		found := exemplar.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			return errors.New("no bucket of cdc_batch_seconds shows a trace")
		}
		for _, match := range found {
			trace := string(match[1])
			if !slices.ContainsFunc(collector.All(), func(s tracing.Span) bool { return s.Trace == trace && s.Name == "process user_meta" }) {
				return fmt.Errorf("the trace %s beside a bucket was not sent", trace)
			}
		}
		return nil
	})
}
