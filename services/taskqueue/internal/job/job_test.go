package job_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestIDsIncreaseAndTellWhatTheyWereMadeOf(t *testing.T) {
	t.Parallel()
	at := clock.Fixed(time.UnixMilli(1_790_000_000_123))
	g := job.NewGenerator(at)
	var last job.ID
	for _, lane := range job.Lanes() {
		for range 50 {
			id := g.Next(7, lane)
			parsed, err := job.ParseID(string(id))
			if err != nil || parsed.Shard() != 7 || parsed.Lane() != lane || parsed.CreatedMs() != 1_790_000_000_123 || len(id) != job.IDLength {
				t.Fatalf("%s: %v", id, err)
			}
			if last != "" && last[3:] >= id[3:] {
				t.Fatalf("%s does not come after %s", id, last)
			}
			last = id
		}
	}
}

func TestForeignTextIsNoID(t *testing.T) {
	t.Parallel()
	id := job.NewGenerator(clock.System{}).Next(5, job.Lane{Channel: job.Webhook})
	for _, text := range []string{"", "x", string(id) + "0", string(id[:28]), "0" + string(id[1:]) + "", "}{" + string(id[2:]), string(id[:2]) + "z" + string(id[3:]), string(id[:28]) + "U"} {
		if text == string(id) {
			continue
		}
		if _, err := job.ParseID(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestBodiesAndRecordsSurviveStorage(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		text := rapid.String()
		bytes := rapid.SliceOfN(rapid.Byte(), 0, 50)
		ms := rapid.Int64Range(0, 1<<45)
		history := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job.Attempt {
			return job.Attempt{StartedMs: ms.Draw(t, "s"), EndedMs: ms.Draw(t, "e"), HTTPStatus: 503, Error: text.Draw(t, "err")}
		}), 0, 3).Draw(t, "history")
		body := job.Body{Task: 4, TaskType: 2, LabID: rapid.Int64Range(-1, 1<<40).Draw(t, "lab"), Caller: text.Draw(t, "caller"), Internal: rapid.Bool().Draw(t, "internal"),
			Data: bytes.Draw(t, "data"), Headers: bytes.Draw(t, "headers"), LogTag: text.Draw(t, "tag"), Subscribe: "s", OnSuccess: "ok", OnFailure: "f", Retry: 3,
			CreatedMs: ms.Draw(t, "c"), ScheduledMs: 2, StartedMs: 3, Attempts: 4, LastError: "e", History: history, Nonce: 1, Traceparent: "t", WindowKey: "w",
			Target: "u", Parent: "p", ExpiresMs: 5}
		got, err := job.DecodeBody(body.Encode(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&body, got, emptyIsNil()); diff != "" {
			t.Fatalf("body (-want +got):\n%s", diff)
		}
		record := job.RecordOf(&body, job.Failed, 77)
		record.HTTPStatus, record.Excerpt, record.MessageID = 500, text.Draw(t, "excerpt"), "m"
		stored, err := job.DecodeRecord(record.Encode(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&record, stored, emptyIsNil()); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
	})
}

func emptyIsNil() cmp.Option { return cmpopts.EquateEmpty() }

func TestUnknownFieldsAreSkippedAndDamageIsAnError(t *testing.T) {
	t.Parallel()
	body := job.Body{Task: 4, LogTag: "x"}
	raw := body.Encode(nil)
	raw = protowire.AppendTag(raw, 99, protowire.Fixed64Type)
	raw = protowire.AppendFixed64(raw, 1)
	got, err := job.DecodeBody(raw)
	if err != nil || got.Task != 4 || got.LogTag != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := job.DecodeBody(raw[:len(raw)-1]); err == nil {
		t.Error("a truncated body was read")
	}
}

func TestBackoffLadders(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{5 * time.Second, 20 * time.Second, 80 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute} {
		if got := job.Backoff(job.Webhook, n+1, 0.5, 0); got != want {
			t.Errorf("task, failure %d: %v, want %v", n+1, got, want)
		}
		low, high := job.Backoff(job.SMS, n+1, 0, 0), job.Backoff(job.SMS, n+1, 1, 0)
		if low != want*8/10 || high != want*12/10 {
			t.Errorf("task, failure %d: %v to %v", n+1, low, high)
		}
	}
	for n, want := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute} {
		if got := job.Backoff(job.Callback, n+1, 0.5, 0); got != want {
			t.Errorf("callback, failure %d: %v, want %v", n+1, got, want)
		}
	}
	for after, want := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, 7 * time.Second: 7 * time.Second, time.Hour: 10 * time.Second} {
		if got := job.Backoff(job.Webhook, 1, 0.5, after); got != want {
			t.Errorf("Retry-After %v: %v, want %v", after, got, want)
		}
	}
}

func TestTheRuleOfCrashCounting(t *testing.T) {
	t.Parallel()
	never := job.Evidence{}
	for loss := 1; loss <= 13; loss++ {
		never.Unseen = true
		var decision job.Expiry
		decision, never = job.DecideExpiry(never)
		if want := loss == 13; (decision == job.ExpirePoison) != want {
			t.Errorf("a job that never ran, loss %d: %v", loss, decision)
		}
		never = job.UnpackEvidence(never.Packed())
	}
	ran := job.Evidence{}
	for crash := 1; crash <= 4; crash++ {
		ran.Renewed = crash == 2 // with and without a renewal
		var decision job.Expiry
		decision, ran = job.DecideExpiry(ran)
		if want := crash == 4; (decision == job.ExpirePoison) != want {
			t.Errorf("a job that ran, crash %d: %v", crash, decision)
		}
		ran = job.UnpackEvidence(ran.Packed())
	}
	for name, c := range map[string]struct {
		e    job.Evidence
		want job.Expiry
	}{
		"nothing to run": {job.Evidence{NoBody: true, Intent: true}, job.ExpireDrop}, "a paid send began": {job.Evidence{Intent: true, Cancel: true}, job.ExpireHold},
		"a cancel request": {job.Evidence{Cancel: true, Renewed: true}, job.ExpireCancel},
	} {
		if got, _ := job.DecideExpiry(c.e); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhoIsToldAndTheBodyOfACallback(t *testing.T) {
	t.Parallel()
	hook := job.Lane{Channel: job.Webhook, Priority: job.Moderate}
	b := &job.Body{Task: 4, TaskType: 2, Subscribe: "s", OnSuccess: "ok", OnFailure: "bad", LogTag: "tag",
		Data: []byte(`{"callback":1,"callback_url":"cb"}`)}
	for state, want := range map[job.State][]string{job.Finished: {"s", "ok", "cb"}, job.Failed: {"s", "bad", "cb"}, job.Cancelled: {"s", "cb"}, job.Retrying: nil} {
		if diff := cmp.Diff(want, job.CallbackURLs(hook, b, state)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
	if got := job.CallbackURLs(job.Lane{Channel: job.Callback}, b, job.Failed); got != nil {
		t.Errorf("a callback has callbacks: %v", got)
	}
	off := &job.Body{Data: []byte(`{"callback_url":"cb"}`)}
	if got := job.CallbackURLs(hook, off, job.Finished); got != nil {
		t.Errorf("a webhook without callback 1: %v", got)
	}
	if got := job.CallbackURLs(job.Lane{Channel: job.SMS}, off, job.Finished); len(got) != 1 {
		t.Errorf("an SMS with callback_url: %v", got)
	}
	record := job.RecordOf(b, job.Failed, time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC).UnixMilli())
	record.Attempts, record.HTTPStatus, record.Error = 2, 503, "The receiver answered 503"
	body := job.CallbackBody("01id", b, &record, "bad")
	const want = `{"job_id":"01id","task":4,"task_type":2,"status":"failed","attempts":2,"log_tag":"tag","result":{"http_status":503},"error":"The receiver answered 503","finished_at":"2026-11-20T10:00:05Z"}`
	if string(body.Data) != want || body.Target != "bad" || body.Retry != 3 || body.Subscribe != "" {
		t.Errorf("payload %s", body.Data)
	}
	if !json.Valid(body.Data) {
		t.Error("the payload is not JSON")
	}
}
