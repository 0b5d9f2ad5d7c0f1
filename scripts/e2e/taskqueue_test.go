package e2e

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// jobOf enqueues one task and returns its id.
func jobOf(t *testing.T, session, path, body string) string {
	t.Helper()
	got := call(t, session, "POST", path, body)
	ids, _ := got.json(t)["job_ids"].([]any)
	if got.status != 200 || len(ids) == 0 {
		t.Fatalf("%s: got %d %s, want status 200", path, got.status, got.body)
	}
	return fmt.Sprint(ids[0])
}

// awaitStatus waits until a job has a status and returns the job.
func awaitStatus(t *testing.T, session, id, want string) map[string]any {
	t.Helper()
	var job map[string]any
	await.Nil(t, "status "+want, func() error {
		info := call(t, session, "POST", "/jobInfo/", fmt.Sprintf(`{"id":%q}`, id))
		job, _ = info.json(t)["job"].(map[string]any)
		if job["status"] != want {
			return fmt.Errorf("jobInfo says %s", info.body)
		}
		return nil
	})
	return job
}

const whatsApp = `[{"task":6,"task_type":1,"data":{"contact":9812345678,"countryCode":91,"message":"Welcome","cache_key":"e2e:consent"}}]`

func TestAWhatsAppMessageNeedsTheRecipientsConsent(t *testing.T) {
	t.Parallel()
	consent := func(session, kind string) {
		t.Helper()
		got := call(t, session, "POST", "/update_consent/", fmt.Sprintf(`{"type":%q,"cache_key":"e2e:consent","details_obj":{"source":"desk"}}`, kind))
		if got.status != 200 || got.json(t)["message"] != "Consent updated successfully" || got.json(t)["code"] != 200.0 {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
	}
	refused := func() {
		t.Helper()
		job := awaitStatus(t, labSession, jobOf(t, labSession, "/queue/", whatsApp), "failed")
		if text := fmt.Sprint(job["error"]); len(text) < 15 || text[:15] != "consent_missing" || job["attempts"] != 1.0 {
			t.Errorf("%v", job)
		}
	}
	consent(otherSession, "opt_in") // the consent of another laboratory
	refused()
	consent(labSession, "opt_in")
	awaitStatus(t, labSession, jobOf(t, labSession, "/queue/", whatsApp), "finished")
	consent(labSession, "opt_out")
	refused()
	for _, wrong := range []string{`{"cache_key":"k"}`, `{"type":"opt_in"}`, `{"type":"maybe","cache_key":"k"}`} {
		if got := call(t, labSession, "POST", "/update_consent/", wrong); got.status != 400 || got.json(t)["code"] != 400.0 {
			t.Errorf("%s: got %d %s, want status 400", wrong, got.status, got.body)
		}
	}
}

func TestDictionaryMappingsAreJobsOfTheLaboratory(t *testing.T) {
	t.Parallel()
	id := jobOf(t, labSession, "/mapping/", `[{"keyword":"haemoglobin","data":{"code":"718-7"}},{"keyword":"wbc","data":{"code":"6690-2"}}]`)
	if job := awaitStatus(t, labSession, id, "finished"); job["task"] != 0.0 {
		t.Errorf("%v", job)
	}
	if got := call(t, otherSession, "POST", "/jobInfo/", fmt.Sprintf(`{"id":%q}`, id)); got.json(t)["code"] != 401.0 {
		t.Errorf("another laboratory sees the job: %s", got.body)
	}
	if got := call(t, labSession, "POST", "/mapping/", `[{"data":{}}]`); got.status != 400 {
		t.Errorf("got %d %s, want status 400", got.status, got.body)
	}
}
