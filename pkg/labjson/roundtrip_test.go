package labjson_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/labjson"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

func TestMessagesSurviveEncodingAndDecoding(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		for _, m := range []proto.Message{drawTask(t), drawValues(t)} {
			text, err := labjson.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(text) {
				t.Fatalf("Marshal = %s, want valid JSON", text)
			}
			back := m.ProtoReflect().New().Interface()
			if err := labjson.Unmarshal(text, back); err != nil {
				t.Fatalf("Unmarshal(%s): %v", text, err)
			}
			if !proto.Equal(m, back) {
				t.Fatalf("%s\ndecoded = %v\nwant      %v", text, back, m)
			}
		}
	})
}

func optional[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	return rapid.Ptr(g, true).Draw(t, label)
}

func drawTask(t *rapid.T) *taskqueuev1.Task {
	m := &taskqueuev1.Task{
		Task:     rapid.Int32().Draw(t, "task"),
		TaskType: rapid.Int32().Draw(t, "task_type"),
		LogTag:   optional(t, rapid.String(), "log_tag"),
		Headers:  rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "headers"),
		Retry:    optional(t, rapid.Int32(), "retry"),
	}
	if data := rapid.SampledFrom([]string{"", `{"a": [1.50, {}]}`, `"x"`, `-0.1e+5`, `true`}).Draw(t, "data"); data != "" {
		m.Data = &typev1.RawJSON{Json: []byte(data)}
	}
	return m
}

func drawValues(t *rapid.T) *rerunv1.ListRerunsResponse {
	m := &rerunv1.ListRerunsResponse{SampleRedrawFlag: rapid.Int32().Draw(t, "flag")}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		m.Reruns = append(m.Reruns, &rerunv1.RerunValue{
			XId:           rapid.String().Draw(t, "id"),
			LabId:         rapid.Int64Range(-1<<53, 1<<53).Draw(t, "lab"),
			OriginalValue: optional(t, rapid.String(), "original"),
		})
		m.PendingRequests = append(m.PendingRequests, &rerunv1.PendingRequest{
			RequestedParameters: rapid.SliceOf(rapid.Int32()).Draw(t, "requested"),
			ParameterNames:      rapid.SliceOf(rapid.String()).Draw(t, "names"),
		})
	}
	return m
}
