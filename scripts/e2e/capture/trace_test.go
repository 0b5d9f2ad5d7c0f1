package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/tracing"
)

const (
	traceKey     = "Bearer traces-of-capture"
	followedName = "Yamuna Tracewell"
)

// TestARowIsFollowedFromItsCommitToTheIndex has the consumer send its spans to a collector. A change of a patient is
// two traces: from the commit of userDetails to the row of user_meta, and from that row's commit to the index. The
// second one leads back to the first by a link.
func TestARowIsFollowedFromItsCommitToTheIndex(t *testing.T) {
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
	if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (941001, 12, ?)", followedName); err != nil {
		t.Fatal(err)
	}
	var source, index tracing.Tree
	var bulk tracing.Span
	await.Nil(t, "both traces", func() (err error) {
		source, index, bulk, err = walk(collector.All())
		return err
	})
	t.Logf("from the row's commit to user_meta\n%s", source.String(""))
	t.Logf("from the commit of user_meta to the index\n%s", index.String(""))
	want := []string{"cdc commit user_meta", "cdc process user_meta", "cdc bulk"}
	if got := index.Path(bulk); !slices.Equal(got, want) {
		t.Errorf("the way to the index is %q, want %q", got, want)
	}
	expect(t, source, "commit userDetails", otlp.Span_SPAN_KIND_PRODUCER, "messaging.system=kafka", "db.collection.name=userDetails",
		"messaging.destination.name=lab.lab.userDetails")
	expect(t, source, "process userDetails", otlp.Span_SPAN_KIND_CONSUMER, "messaging.system=kafka", "messaging.operation.type=process")
	expect(t, source, "INSERT user_meta", otlp.Span_SPAN_KIND_CLIENT, "db.system.name=mysql", "db.query.summary=INSERT user_meta")
	expect(t, index, "process user_meta", otlp.Span_SPAN_KIND_CONSUMER, "messaging.destination.name=lab.lab.user_meta")
	expect(t, index, "bulk", otlp.Span_SPAN_KIND_CLIENT, "db.system=elasticsearch", "db.operation=bulk")
	for _, s := range append(source.Spans(), index.Spans()...) {
		if err := s.CheckOrigin(traceKey, followedName, "Yamuna"); err != nil {
			t.Error(err)
		}
	}
	for _, trace := range []string{source.Spans()[0].Trace, index.Spans()[0].Trace} {
		lines, err := tracing.LogLines(filepath.Join(platform.Dir, "logs", "cdc.log"), trace)
		if err != nil || !slices.Contains(lines, "batch done") {
			t.Errorf("the log's lines of trace %s: %q, %v", trace, lines, err)
		}
	}
	checkExemplar(t, cdc, index.Spans()[0].Trace)
}

// replaced starts the platform's consumer anew with other settings, nil for its own, and waits until it is ready.
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

// walk goes back from the index: a bulk request, the commit at the root of its trace, the batch that this links to, and
// the commit at the root of that one's trace.
func walk(spans []tracing.Span) (source, index tracing.Tree, bulk tracing.Span, err error) {
	for _, s := range spans {
		if s.Name != "bulk" {
			continue
		}
		bulk, index = s, tracing.Grow(s.Trace, spans)
		for _, commit := range index.Spans() {
			for _, link := range commit.Links {
				source = tracing.Grow(link.Trace, spans)
				if commit.Name == "commit user_meta" && slices.ContainsFunc(source.Spans(), func(s tracing.Span) bool {
					return s.ID == link.ID && s.Name == "process userDetails" && len(source.Path(s)) == 2
				}) {
					return source, index, bulk, nil
				}
			}
		}
	}
	return source, index, bulk, fmt.Errorf("of %d spans none leads from the index back to a commit of userDetails", len(spans))
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

// checkExemplar asks as Prometheus does, which alone gets exemplars.
func checkExemplar(t *testing.T, cdc *consumer, trace string) {
	t.Helper()
	await.Nil(t, "the trace beside a measurement", func() error {
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
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "cdc_batch_seconds_bucket") && strings.Contains(line, `trace_id="`+trace+`"`) {
				return nil
			}
		}
		return errors.Join(err, errors.New("no bucket of cdc_batch_seconds shows it"))
	})
}
