package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

const lowHaemoglobin = `{"device_data":[{"index":1,"value":"5.9"},{"index":2,"value":"4.7"}]}`

// TestAnInstrumentsValuesBecomeARerunRequest runs the walk-through of the README.
func TestAnInstrumentsValuesBecomeARerunRequest(t *testing.T) {
	t.Parallel()
	const id = 97001
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)

	auto := call(t, labSession, "POST", path+"/auto/", lowHaemoglobin)
	if auto.status != 200 || auto.json(t)["message"] != "Auto rerun queued successfully" {
		t.Fatalf("auto: %d %s", auto.status, auto.body)
	}
	await.Nil(t, "the rerun request", func() error {
		list := call(t, labSession, "GET", path, "")
		body := list.json(t)
		pending, _ := body["pending_requests"].([]any)
		if body["sampleRedrawFlag"] != 3.0 || len(pending) != 1 {
			return fmt.Errorf("the list says %s", list.body)
		}
		return nil
	})
	request := call(t, labSession, "GET", path+"/", "").json(t)["pending_requests"].([]any)[0].(map[string]any)
	if request["type"] != "Auto" || request["created_by"] != -1.0 || request["rerun_number"] != 1.0 {
		t.Errorf("request %v", request)
	}
	if got := fmt.Sprint(request["requested_parameters"]); got != "[1]" {
		t.Errorf("requested parameters %s", got)
	}

	again := call(t, labSession, "POST", path+"/auto", lowHaemoglobin)
	if again.status != 200 || again.json(t)["message"] != "Auto rerun didn't qualify for these values" {
		t.Errorf("second auto: %d %s", again.status, again.body)
	}

	job := outboxJob(t, fmt.Sprintf("/api-v3/sample-rerun/%d/request", id))
	await.Nil(t, "the end of the job", func() error {
		info := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", "/jobInfo/", fmt.Sprintf(`{"id":%q}`, job),
			"Authorization", "Bearer "+internalToken(t), "X-Is-Internal-Request", "True")
		found, _ := info.json(t)["job"].(map[string]any)
		if found["status"] != "finished" {
			return fmt.Errorf("jobInfo says %s", info.body)
		}
		return nil
	})
}

// outboxJob waits until the outbox page shows a webhook to a URL with this suffix, and returns its job's id.
func outboxJob(t *testing.T, suffix string) (id string) {
	t.Helper()
	await.Nil(t, "the outbox message to "+suffix, func() error {
		list := callAt(t, strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/"), "", "GET", "/messages?channel=webhook", "")
		var messages []map[string]any
		var wrapped struct {
			Messages []map[string]any `json:"messages"`
		}
		if json.Unmarshal([]byte(list.body), &wrapped) == nil {
			messages = wrapped.Messages
		}
		for _, m := range messages {
			if text, _ := json.Marshal(m); strings.Contains(string(text), suffix) {
				id, _ = m["job_id"].(string)
			}
		}
		if id == "" {
			return fmt.Errorf("the outbox says %d %.500s", list.status, list.body)
		}
		return nil
	})
	return id
}

func TestNormalValuesQueueNothing(t *testing.T) {
	t.Parallel()
	const id = 97002
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	auto := call(t, labSession, "POST", path+"/auto", `{"device_data":[{"index":1,"value":"14.1"},{"index":2,"value":"TNP"}]}`)
	if auto.status != 200 || auto.json(t)["message"] != "Auto rerun didn't qualify for these values" {
		t.Fatalf("auto: %d %s", auto.status, auto.body)
	}
	if list := call(t, labSession, "GET", path, ""); list.json(t)["sampleRedrawFlag"] != 0.0 {
		t.Fatalf("list: %s", list.body)
	}
}

func TestAnotherLaboratoryDoesNotSeeTheReport(t *testing.T) {
	t.Parallel()
	const id = 97003
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	for _, r := range []struct{ method, path, body string }{
		{"GET", path, ""},
		{"POST", path + "/auto", lowHaemoglobin},
		{"POST", path + "/request", `{"type":"Manual","requested_parameters":"[1]"}`},
	} {
		foreign := call(t, otherSession, r.method, r.path, r.body)
		missing := call(t, otherSession, r.method, strings.Replace(r.path, "97003", "1", 1), r.body)
		if foreign.status != http.StatusNotFound || foreign.body != missing.body {
			t.Errorf("%s %s: %d %s, but a report that does not exist: %d %s", r.method, r.path, foreign.status, foreign.body, missing.status, missing.body)
		}
	}
	if list := call(t, labSession, "GET", path, ""); list.json(t)["sampleRedrawFlag"] != 0.0 {
		t.Errorf("the foreign requests changed the report: %s", list.body)
	}
}

func TestManualRequestsRace(t *testing.T) {
	t.Parallel()
	const id = 97004
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/request", id)
	statuses := make(chan int, 8)
	for range cap(statuses) {
		go func() {
			got, err := send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", path, `{"type":"Manual","rerun_number":"1","requested_parameters":"[1, 2]","is_active":true}`)
			if err != nil {
				t.Error(err)
			}
			statuses <- got.status
		}()
	}
	counts := map[int]int{}
	for range cap(statuses) {
		counts[<-statuses]++
	}
	if counts[200] != 1 || counts[409] != cap(statuses)-1 {
		t.Fatalf("statuses %v, want one 200 and the rest 409", counts)
	}
}
