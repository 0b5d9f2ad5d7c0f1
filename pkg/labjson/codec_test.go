package labjson_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/labplatform/labplatform/pkg/labjson"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// queue answers Enqueue and keeps what arrived.
type queue struct {
	taskqueuev1.TaskQueueServiceClient
	got *taskqueuev1.EnqueueRequest
}

func (q *queue) Enqueue(_ context.Context, r *taskqueuev1.EnqueueRequest, _ ...grpc.CallOption) (*taskqueuev1.EnqueueResponse, error) {
	q.got = r
	return &taskqueuev1.EnqueueResponse{Code: 200, JobIds: []string{"j1"}}, nil
}

func post(t *testing.T, q *queue, body string) *httptest.ResponseRecorder {
	t.Helper()
	mux := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{Marshaler: labjson.Codec{}}))
	if err := taskqueuev1.RegisterTaskQueueServiceHandlerClient(t.Context(), mux, q); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/queue", strings.NewReader(body))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestAGeneratedHandlerReadsATopLevelListAndWritesTheAnswer(t *testing.T) {
	t.Parallel()
	q := &queue{}
	w := post(t, q, `[{"task":4,"task_type":"2","data":{"url": "http://x", "args":{"n":1.0}},"retry":3,"log_tag":null}]`)
	if w.Code != http.StatusOK || w.Body.String() != `{"code":200,"job_ids":["j1"]}` {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{
		Task: 4, TaskType: 2, Retry: proto.Int32(3), Data: &typev1.RawJSON{Json: []byte(`{"url": "http://x", "args":{"n":1.0}}`)}}}}
	if diff := cmp.Diff(want, q.got, protocmp.Transform()); diff != "" {
		t.Fatal(diff)
	}
}

func TestAnEmptyBodyIsAnEmptyList(t *testing.T) {
	t.Parallel()
	q := &queue{}
	if w := post(t, q, " \n"); w.Code != http.StatusOK || len(q.got.GetTasks()) != 0 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestAWrongElementIsNamedInTheAnswer(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`[{"task":1},{"task":"x"}]`: "[1].task must be an integer",
		`[null]`:                    "[0] must not be null",
		`{}`:                        "the body must be a list",
	} {
		w := post(t, &queue{}, body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestBareFieldsOfEveryKindGoBothWays(t *testing.T) {
	t.Parallel()
	var (
		text  string
		flag  bool
		n     int32
		l     int64
		u     uint32
		ul    uint64
		f     float64
		names []string
		data  []byte
		opt   *int32
		raw   *typev1.RawJSON
		tasks []*taskqueuev1.Task
	)
	for _, c := range []struct {
		target any
		in     string
		want   string
	}{
		{&text, `"x"`, `"x"`}, {&flag, `"True"`, `true`}, {&n, `"7"`, `7`}, {&l, `1e3`, `1000`}, {&u, `4294967295`, `4294967295`},
		{&ul, `9007199254740992`, `9007199254740992`}, {&f, `0.5`, `0.5`}, {&names, `["a","b"]`, `["a","b"]`},
		{&data, `"AQI"`, `"AQI="`}, {&opt, `5`, `5`}, {&raw, `{"a": 1}`, `{"a": 1}`}, {&tasks, `[]`, `[]`},
	} {
		if err := (labjson.Codec{}).Unmarshal([]byte(c.in), c.target); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got, err := (labjson.Codec{}).Marshal(c.target); err != nil || string(got) != c.want {
			t.Errorf("%s: got %s (%v)", c.in, got, err)
		}
	}
}

func TestBareValuesRefuseTheWrongType(t *testing.T) {
	t.Parallel()
	var n uint32
	for in, target := range map[string]any{`-1`: &n, `"x"`: &n, `[]`: &n, `{}`: &n, `{"a":1}`: n} {
		if err := (labjson.Codec{}).Unmarshal([]byte(in), target); err == nil {
			t.Errorf("%s into %T was accepted", in, target)
		}
	}
}

func TestStreamsAndForeignValuesEncode(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := labjson.Codec{}.NewEncoder(&out).Encode(map[string]any{"result": &taskqueuev1.RetryTarget{JobId: "j"}, "n": nil})
	if err != nil || out.String() != `{"n":null,"result":{"job_id":"j"}}`+"\n" {
		t.Fatalf("%q %v", out.String(), err)
	}
}

func TestAReaderThatFailsKeepsItsError(t *testing.T) {
	t.Parallel()
	limit := &http.MaxBytesError{Limit: 1}
	err := labjson.Codec{}.NewDecoder(io.MultiReader(strings.NewReader("{"), broken{limit})).Decode(&taskqueuev1.Task{})
	var got *http.MaxBytesError
	if !errors.As(err, &got) {
		t.Fatalf("error = %v", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
