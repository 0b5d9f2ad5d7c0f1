package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// TestOneRequestIDGoesFromAnInstrumentsResultToThePush checks that the id of a request finds the log lines of all
// services that worked on it, across two outboxes and the task queue.
func TestOneRequestIDGoesFromAnInstrumentsResultToThePush(t *testing.T) {
	t.Parallel()
	id := criticalFromAnInstrument(t, 979050)
	for _, want := range []struct{ service, line string }{
		{"rerun", "call done /lab.rerun.v1.RerunService/ConfirmRerun"},
		{"callout", "call done /lab.callout.v1.CalloutService/EvaluateReports"},
		{"notifications", "call done /lab.notifications.v1.NotificationsService/Notify"},
		{"taskqueue", "call done /lab.taskqueue.v1.TaskQueueService/Enqueue"},
		{"taskqueue", "a delivery ended push"},
	} {
		await.Nil(t, want.service+": "+want.line, func() error { return hasLine(want.service, id, want.line) })
	}
}

// TestTheRequestIDOfAnAutomaticRerunGoesThroughTheQueueAndBack checks that the id of the request with the values also
// finds the later steps of the automatic rerun.
func TestTheRequestIDOfAnAutomaticRerunGoesThroughTheQueueAndBack(t *testing.T) {
	t.Parallel()
	const report = 97051
	newReport(t, report)
	got := call(t, labSession, "POST", fmt.Sprintf("/api-v3/sample-rerun/%d/auto", report), lowHaemoglobin)
	if got.status != 200 {
		t.Fatalf("auto: %d %s", got.status, got.body)
	}
	id := got.header.Get("X-Request-Id")
	await.Nil(t, "the request that the webhook made", func() error {
		return hasLine("rerun", id, "call done /lab.rerun.v1.RerunService/RequestRerun")
	})
}

// hasLine returns an error unless the log of a service has a line with this request id. want is its message, followed
// by its method or channel.
func hasLine(service, id, want string) error {
	text, err := os.ReadFile(filepath.Join(stack.Dir, "logs", service+".log"))
	if err != nil {
		return err
	}
	var found []string
	for line := range bytes.Lines(text) {
		var fields struct {
			Msg, Method, Channel string
			ID                   string `json:"request_id"`
		}
		if json.Unmarshal(line, &fields) == nil && fields.ID == id {
			found = append(found, fields.Msg+" "+fields.Method+fields.Channel)
		}
	}
	if !slices.Contains(found, want) {
		return fmt.Errorf("request %q has %q", id, found)
	}
	return nil
}
