package rowtrace_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/enginetest"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/rowtrace"
)

// follow returns a Tracer and what it recorded so far, by name.
func follow(rate float64) (*rowtrace.Tracer, func() map[string][]sdktrace.ReadOnlySpan) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithIDGenerator(telemetry.Identities()),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(rate))))
	return rowtrace.New(provider, rate), func() map[string][]sdktrace.ReadOnlySpan {
		spans := map[string][]sdktrace.ReadOnlySpan{}
		for _, s := range recorder.Ended() {
			spans[s.Name()] = append(spans[s.Name()], s)
		}
		return spans
	}
}

func patient(op change.Op, id int64) change.Record {
	value := fmt.Sprintf(`{"op":%q,"before":{"id":%d},"after":{"id":%d},"source":{"ts_ms":1790000000000,"file":"binlog.000001","pos":%d}}`, op, id, id, 100+id)
	return change.Record{Topic: "lab.lab.userDetails", Partition: 2, Offset: id, Key: fmt.Appendf(nil, `{"id":%d}`, id), Value: []byte(value),
		Timestamp: time.UnixMilli(1790000000300)}
}

func TestAChangeIsFollowedFromItsCommitToTheIndex(t *testing.T) {
	t.Parallel()
	tracer, spans := follow(1)
	ctx, end := tracer.Batch(t.Context(), []change.Record{patient(change.Update, 501), patient(change.Update, 502)})
	tracer.Written(ctx, 501, 77)
	end(true)
	row := enginetest.Event(change.Update, projection.Row{UserID: 501, LabID: 12, Rev: 77})
	_, end = tracer.Batch(t.Context(), []change.Record{row})
	end(false)

	got := spans()
	commits, source, middle, index := got["commit userDetails"], got["process userDetails"], got["commit user_meta"], got["process user_meta"]
	if len(commits) != 2 || len(source) != 1 || len(middle) != 1 || len(index) != 1 {
		t.Fatalf("spans %v", got)
	}
	if source[0].Parent().SpanID() != commits[0].SpanContext().SpanID() || source[0].Links()[0].SpanContext.SpanID() != commits[1].SpanContext().SpanID() {
		t.Error("the batch does not belong to its first change, with a link to the second")
	}
	if commits[0].Parent().IsValid() || commits[0].EndTime().Sub(commits[0].StartTime()) != 300*time.Millisecond {
		t.Errorf("the commit took %v", commits[0].EndTime().Sub(commits[0].StartTime()))
	}
	if middle[0].Links()[0].SpanContext.SpanID() != source[0].SpanContext().SpanID() {
		t.Error("the row of user_meta does not lead back to the batch that wrote it")
	}
	if index[0].Parent().SpanID() != middle[0].SpanContext().SpanID() || index[0].Parent().TraceID() != middle[0].SpanContext().TraceID() {
		t.Error("the index's batch does not belong to the row of user_meta")
	}
	if source[0].Status().Code != 0 || index[0].Status().Code == 0 {
		t.Error("a batch that was not finished is no error, or one that was is")
	}
}

func TestOfAPatientAllChangesAreTracedOrNone(t *testing.T) {
	t.Parallel()
	const patients = 1000
	tracer, spans := follow(0.3)
	both := 0
	for id := range int64(patients) {
		ctx, end := tracer.Batch(t.Context(), []change.Record{patient(change.Update, id+1)})
		tracer.Written(ctx, id+1, 5)
		end(true)
		_, end = tracer.Batch(t.Context(), []change.Record{enginetest.Event(change.Update, projection.Row{UserID: id + 1, LabID: 12, Rev: 5})})
		end(true)
		if got := spans(); len(got["process userDetails"]) != len(got["process user_meta"]) || len(got["commit userDetails"]) != len(got["commit user_meta"]) {
			t.Fatalf("patient %d is traced on one way only", id+1)
		}
		both = len(spans()["process user_meta"])
	}
	if both < patients/5 || both > patients*2/5 {
		t.Errorf("%d of %d patients are traced at a rate of 0.3", both, patients)
	}
}

func TestWhatIsNoChangeHasNoTrace(t *testing.T) {
	t.Parallel()
	tracer, spans := follow(1)
	broken := patient(change.Update, 1)
	broken.Value = []byte(`{"op":`)
	beat := patient(change.Update, 1)
	beat.Topic = "lab.lab.cdc_heartbeat"
	for name, tracer := range map[string]*rowtrace.Tracer{"on": tracer, "off": rowtrace.New(nil, 1)} {
		records := []change.Record{patient(change.Read, 1), broken, beat}
		if name == "off" {
			records = append(records, patient(change.Update, 1))
		}
		ctx, end := tracer.Batch(context.Background(), records)
		tracer.Written(ctx, 1, 1)
		end(true)
	}
	if got := spans(); len(got) != 0 {
		t.Errorf("spans %v", got)
	}
}
