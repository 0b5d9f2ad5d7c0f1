package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

// recording is a request to a real worker and its response.
type recording struct {
	Request struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
	} `json:"request"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

func read(t *testing.T, file string) recording {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// replay returns a client that gets the recorded responses; any other request fails the test.
func replay(t *testing.T, file string) *connect.Client {
	t.Helper()
	r := read(t, file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != r.Request.Method || q.URL.RequestURI() != r.Request.Path {
			t.Errorf("%s %s, want %s %s", q.Method, q.URL.RequestURI(), r.Request.Method, r.Request.Path)
		}
		w.WriteHeader(r.Status)
		if string(r.Body) != "null" {
			_, _ = w.Write(r.Body)
		}
	}))
	t.Cleanup(server.Close)
	return connect.New(connect.Config{URLs: []string{server.URL + "/"}})
}

func TestTheStatesOfAllConnectorsAreRead(t *testing.T) {
	t.Parallel()
	all, err := replay(t, "connectors_expand_status_200").Statuses(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v, want 2", all, err)
	}
	want := connect.Status{Name: "lab-meta", Connector: connect.Part{State: connect.Running, Worker: "127.0.0.1:18083"},
		Tasks: []connect.Task{{ID: 0, Part: connect.Part{State: connect.Running, Worker: "127.0.0.1:18083"}}}}
	if diff := cmp.Diff(want, all["lab-meta"]); diff != "" {
		t.Fatal(diff)
	}
}

func TestAConnectorIsUpOnlyWhenItAndEveryTaskRuns(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct{ up, held bool }{
		"connector_status_running_200":   {up: true},
		"status_after_resume_200":        {up: true},
		"status_paused_200":              {held: true},
		"status_right_after_restart_200": {up: true},
		"status_stopped_200":             {held: true},
		"status_task_failed_200":         {},
	} {
		var status connect.Status
		if err := json.Unmarshal(read(t, file).Body, &status); err != nil {
			t.Fatal(err)
		}
		if status.Up() != want.up || status.Held() != want.held {
			t.Errorf("%s: up %t, held %t: %+v", file, status.Up(), status.Held(), status)
		}
	}
}

func TestTheVerbsSendWhatTheRuntimeUnderstands(t *testing.T) {
	t.Parallel()
	const name = "lab-source"
	for file, call := range map[string]func(*connect.Client) error{
		"stop_204":                func(c *connect.Client) error { return c.Stop(t.Context(), name) },
		"resume_202":              func(c *connect.Client) error { return c.Resume(t.Context(), name) },
		"restart_only_failed_202": func(c *connect.Client) error { return c.Restart(t.Context(), name, true) },
		"put_config_create_201": func(c *connect.Client) error {
			return c.Configure(t.Context(), "lab-meta", map[string]string{"a": "b"})
		},
		"put_config_same_200": func(c *connect.Client) error {
			return c.Configure(t.Context(), "lab-meta", map[string]string{"a": "b"})
		},
	} {
		if err := call(replay(t, file)); err != nil {
			t.Errorf("%s: got error %v, want none", file, err)
		}
	}
}

func TestConfigurationAndOffsetsAreRead(t *testing.T) {
	t.Parallel()
	configuration, err := replay(t, "connector_config_200").Configuration(t.Context(), "lab-source")
	if err != nil || configuration["database.server.id"] != "5701" {
		t.Errorf("configuration %v, %v", configuration, err)
	}
	offsets, err := replay(t, "offsets_get_200").Offsets(t.Context(), "lab-source")
	if err != nil || !strings.Contains(string(offsets), "binlog.000001") {
		t.Errorf("offsets %s, %v", offsets, err)
	}
	if err := replay(t, "offsets_delete_200").Forget(t.Context(), "lab-source"); err != nil {
		t.Error(err)
	}
	offsets, err = replay(t, "offsets_get_after_incremental_200").Offsets(t.Context(), "lab-source")
	if err != nil || !json.Valid(offsets) {
		t.Errorf("offsets %s, %v", offsets, err)
	}
}

func TestAnUnknownConnectorIsTold(t *testing.T) {
	t.Parallel()
	for file, call := range map[string]func(*connect.Client) error{
		"connector_config_404": func(c *connect.Client) error { _, err := c.Configuration(t.Context(), "none"); return err },
	} {
		if err := call(replay(t, file)); !errors.Is(err, connect.ErrUnknown) {
			t.Errorf("%s: got %v, want connect.ErrUnknown", file, err)
		}
	}
}

func TestARefusedConfigurationSaysWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"put_config_bad_values_400":     "The 'snapshot.mode' value is invalid: Value must be one of always",
		"put_config_missing_prefix_400": "The 'topic.prefix' value is invalid: A value is required",
		"put_config_bad_class_400":      "Failed to find any class that implements Connector",
		"put_config_no_class_400":       "contains no connector type",
		"put_config_name_mismatch_400":  "name",
	} {
		err := replay(t, file).Configure(t.Context(), "bad", map[string]string{"a": "b"})
		var invalid *connect.Invalid
		if !errors.As(err, &invalid) || len(invalid.Problems) != 1 || !strings.Contains(invalid.Problems[0], want) {
			t.Errorf("%s: %v", file, err)
		}
		if strings.Contains(err.Error(), "contains the following") || strings.Contains(err.Error(), "You can also find") {
			t.Errorf("%s keeps the frame of the message: %v", file, err)
		}
	}
}

func TestAMessageThatRepeatsTheConfigurationKeepsItsPassword(t *testing.T) {
	t.Parallel()
	client := scripted(func(*http.Request) (int, string) {
		return http.StatusBadRequest, `{"error_code":400,"message":"Connector config {database.password=hunter22, name=bad} contains no connector type"}`
	})
	err := client.Configure(t.Context(), "bad", map[string]string{"database.password": "hunter22"})
	var invalid *connect.Invalid
	if !errors.As(err, &invalid) || strings.Contains(err.Error(), "hunter22") || !strings.Contains(err.Error(), "database.password=***") {
		t.Fatalf("error = %v", err)
	}
}

func TestEveryRecordedRefusalIsAnErrorWithTheRuntimesWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*_[45]??.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		r := read(t, strings.TrimSuffix(filepath.Base(file), ".json"))
		var said struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(r.Body, &said); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		client := scripted(func(*http.Request) (int, string) { cancel(); return r.Status, string(r.Body) })
		err := client.Stop(ctx, "any")
		words := strings.Split(said.Message, "\n")
		if err == nil || !strings.Contains(err.Error(), words[len(words)/2]) {
			t.Errorf("%s: %v, want the words %q", file, err, said.Message)
		}
		if busy := r.Status == http.StatusConflict; errors.Is(err, connect.ErrBusy) != busy {
			t.Errorf("%s: busy = %t", file, !busy)
		}
	}
}

func TestARebalancingWorkerIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests, begin := 0, time.Now()
		client := scripted(func(*http.Request) (int, string) {
			if requests++; requests < 4 {
				return http.StatusConflict, `{"error_code":409,"message":"Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"}`
			}
			return http.StatusNoContent, ""
		})
		if err := client.Stop(t.Context(), "lab-source"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); requests != 4 || took != 1750*time.Millisecond {
			t.Fatalf("%d requests in %s", requests, took)
		}
	})
}

func TestAWorkerThatStaysBusyIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		client := scripted(func(*http.Request) (int, string) {
			requests++
			return http.StatusConflict, `{"error_code":409,"message":"busy"}`
		})
		if err := client.Resume(t.Context(), "lab-source"); !errors.Is(err, connect.ErrBusy) || requests != 8 {
			t.Fatalf("%d requests, %v", requests, err)
		}
	})
}

func TestAnAnswerThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	client := scripted(func(*http.Request) (int, string) { return http.StatusOK, "<html>proxy</html>" })
	if _, err := client.Statuses(t.Context()); err == nil {
		t.Fatal("no error")
	}
	client = scripted(func(*http.Request) (int, string) { return http.StatusBadGateway, "<html>proxy</html>" })
	if _, err := client.Statuses(t.Context()); err == nil || !strings.Contains(err.Error(), "502") {
		t.Fatalf("error = %v", err)
	}
}

func TestALogMayNameTheClassesOfATraceAndNothingElse(t *testing.T) {
	t.Parallel()
	trace := "org.apache.kafka.connect.errors.ConnectException: An exception occurred in the change event producer.\n" +
		"\tat io.debezium.pipeline.ErrorHandler.setProducerThrowable(ErrorHandler.java:67)\n" +
		"Caused by: io.debezium.DebeziumException: Duplicate entry 'Asha Rao: 9876543210' for key 'PRIMARY'\n\t... 15 more\n" +
		"Caused by: java.sql.SQLSyntaxErrorException: (conn=25) denied\n"
	if diff := cmp.Diff([]string{"ConnectException", "DebeziumException", "SQLSyntaxErrorException"}, connect.Causes(trace)); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{"", "Asha", "Asha Rao 9876543210", ": x", "see st. Asha Rao"} {
		if got := connect.Causes(odd); len(got) > 0 {
			t.Errorf("%q gives %v", odd, got)
		}
	}
	var status connect.Status
	if err := json.Unmarshal(read(t, "status_task_failed_200").Body, &status); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DebeziumException"}, connect.Causes(status.Tasks[0].Trace)); diff != "" {
		t.Error(diff)
	}
}

// scripted returns a client that needs no network, so that time can be virtual.
func scripted(answer func(*http.Request) (int, string)) *connect.Client {
	return connect.New(connect.Config{URLs: []string{"http://connect"}, HTTP: &http.Client{Transport: transport(answer)}})
}

type transport func(*http.Request) (int, string)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	status, body := f(q)
	recorder.WriteHeader(status)
	_, _ = recorder.WriteString(body)
	return recorder.Result(), nil
}

func TestAWorkerThatIsGoneIsPassedOver(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	asked := 0
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(there.Close)
	client := connect.New(connect.Config{URLs: []string{gone.URL, there.URL}})
	for range 2 {
		if _, err := client.Statuses(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("the worker that is there was asked %d times", asked)
	}
}
