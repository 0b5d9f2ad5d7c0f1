package job_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// TestTheStoredFormStaysAsItIs checks that the stored form does not change, because releases that run side by side read
// each other's jobs.
func TestTheStoredFormStaysAsItIs(t *testing.T) {
	t.Parallel()
	history := []job.Attempt{{StartedMs: 1, EndedMs: 2, HTTPStatus: 503, Error: "e", Reason: "r"}, {EndedMs: 3}}
	body := &job.Body{Task: 4, TaskType: 2, LabID: -12, Caller: "c", Internal: true, Data: []byte("d"), Headers: []byte("h"), LogTag: "l",
		Subscribe: "s", OnSuccess: "o", OnFailure: "f", Retry: 3, CreatedMs: 1 << 41, ScheduledMs: 5, StartedMs: 6, Attempts: 7, LastError: "le",
		LastReason: "lr", History: history, Nonce: 8, Traceparent: "t", WindowKey: "w", Target: "u", Parent: "p", ExpiresMs: 9, Flow: 10,
		Sealed: []byte("se"), CallbackTo: "cb", RequestID: "ri", Progress: []byte("pr")}
	record := job.RecordOf(body, job.Failed, 77)
	record.HTTPStatus, record.Excerpt, record.MessageID, record.Callbacks, record.Untold = 500, "x", "m", []job.ID{"a", "b"}, true
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"body":   {body.Encode(nil), "74ebd2ad82039879"},
		"record": {record.Encode(nil), "9b05643c3b45bbec"},
	} {
		sum := sha256.Sum256(c.raw)
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%s: %s, want %s: %x", name, got, c.want, c.raw)
		}
	}
	if got, err := job.DecodeBody(body.Encode(nil)); err != nil || cmp.Diff(body, got) != "" {
		t.Errorf("body %v: %s", err, cmp.Diff(body, got))
	}
	if got, err := job.DecodeRecord(record.Encode(nil)); err != nil || cmp.Diff(&record, got) != "" {
		t.Errorf("record %v: %s", err, cmp.Diff(&record, got))
	}
}
