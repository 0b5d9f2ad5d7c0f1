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

// queue is a client that keeps the request of Enqueue.
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

func TestGeneratedHandlerDecodesAListAndEncodesTheResponse(t *testing.T) {
	t.Parallel()
	q := &queue{}
	w := post(t, q, `[{"task":4,"task_type":"2","data":{"url": "http://x", "args":{"n":1.0}},"retry":3,"log_tag":null}]`)
	if w.Code != http.StatusOK || w.Body.String() != `{"code":200,"job_ids":["j1"]}` {
		t.Fatalf("response = %d %s, want 200 with job_ids", w.Code, w.Body)
	}
	want := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{
		Task: 4, TaskType: 2, Retry: proto.Int32(3), Data: &typev1.RawJSON{Json: []byte(`{"url": "http://x", "args":{"n":1.0}}`)}}}}
	if diff := cmp.Diff(want, q.got, protocmp.Transform()); diff != "" {
		t.Fatalf("request (-want +got):\n%s", diff)
	}
}

func TestEmptyBodyIsAnEmptyList(t *testing.T) {
	t.Parallel()
	q := &queue{}
	if w := post(t, q, " \n"); w.Code != http.StatusOK || len(q.got.GetTasks()) != 0 {
		t.Fatalf("response = %d %s, want 200 for an empty list", w.Code, w.Body)
	}
}

func TestWrongElementIsNamedInTheResponse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`[{"task":1},{"task":"x"}]`: "[1].task must be an integer",
		`[null]`:                    "[0] must not be null",
		`{}`:                        "the body must be a list",
	} {
		w := post(t, &queue{}, body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: response = %d %s, want 400 with %q", body, w.Code, w.Body, want)
		}
	}
}

func TestFieldsOfEveryKindAreDecodedAndEncoded(t *testing.T) {
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
			t.Errorf("Unmarshal(%s): %v", c.in, err)
			continue
		}
		if got, err := (labjson.Codec{}).Marshal(c.target); err != nil || string(got) != c.want {
			t.Errorf("%s encoded again = %s, error %v, want %s", c.in, got, err, c.want)
		}
	}
}

func TestFieldsOfTheWrongTypeAreRefused(t *testing.T) {
	t.Parallel()
	var n uint32
	for in, target := range map[string]any{`-1`: &n, `"x"`: &n, `[]`: &n, `{}`: &n, `{"a":1}`: n} {
		if err := (labjson.Codec{}).Unmarshal([]byte(in), target); err == nil {
			t.Errorf("Unmarshal(%s) into %T succeeded, want an error", in, target)
		}
	}
}

func TestStreamMessagesAreEncoded(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := labjson.Codec{}.NewEncoder(&out).Encode(map[string]any{"result": &taskqueuev1.RetryTarget{JobId: "j"}, "n": nil})
	if err != nil || out.String() != `{"n":null,"result":{"job_id":"j"}}`+"\n" {
		t.Fatalf("encoded = %q, error %v, want the wrapped message and a line feed", out.String(), err)
	}
}

func TestDecoderReturnsTheErrorOfItsReader(t *testing.T) {
	t.Parallel()
	limit := &http.MaxBytesError{Limit: 1}
	err := labjson.Codec{}.NewDecoder(io.MultiReader(strings.NewReader("{"), broken{limit})).Decode(&taskqueuev1.Task{})
	var got *http.MaxBytesError
	if !errors.As(err, &got) {
		t.Fatalf("error = %v, want the reader's MaxBytesError", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
