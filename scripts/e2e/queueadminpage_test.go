package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

const queueAdminToken = "e2e-token-of-the-queue-page"

// enqueued posts tasks and returns their ids.
func enqueued(t *testing.T, session, path, body string) []string {
	t.Helper()
	got := call(t, session, "POST", path, body)
	var answer struct {
		JobIDs []string `json:"job_ids"`
	}
	if err := json.Unmarshal([]byte(got.body), &answer); got.status != 200 || err != nil || len(answer.JobIDs) == 0 {
		t.Fatalf("got %d %s %v, want status 200", got.status, got.body, err)
	}
	return answer.JobIDs
}

func jobStatus(t *testing.T, session, id string) string {
	t.Helper()
	got := call(t, session, "POST", "/jobInfo/", `{"id":"`+id+`"}`)
	var answer struct {
		Job struct{ Status string }
	}
	if err := json.Unmarshal([]byte(got.body), &answer); got.status != 200 || err != nil {
		t.Fatalf("got %d %s %v, want status 200", got.status, got.body, err)
	}
	return answer.Job.Status
}

// scheduledMessages enqueues n WhatsApp tasks scheduled for much later, and returns their ids. No other test has
// waiting ones.
func scheduledMessages(t *testing.T, session string, n int) []string {
	t.Helper()
	one := `{"sch_time":"` + clock.System{}.Now().UTC().AddDate(0, 0, 20).Format("2006-01-02T15:04:05") + `","task":6,"task_type":1,"data":{"contact":9812399999,"countryCode":91,"message":"Hidden text","cache_key":"queue-page"}}`
	return enqueued(t, session, "/schedule/", "["+strings.TrimSuffix(strings.Repeat(one+",", n), ",")+"]")
}

// queuePage opens the page and enters the token, after a wrong one was refused.
func queuePage(t *testing.T) page {
	t.Helper()
	p := openPage(t, stack.Endpoints.TaskqueueAdminPage)
	p.Await("the question for the token", `!document.getElementById("login").hidden`)
	p.Fill("token", "input", "a wrong token of the page")
	p.Do(chromedp.Click(chromedp.CSS("#token-form button")))
	p.Await("the refusal", `document.getElementById("problem").textContent.includes("missing or wrong") && document.getElementById("board").hidden`)
	p.Clean() // the browser reports the refusals
	p.Fill("token", "input", queueAdminToken)
	p.Do(chromedp.Click(chromedp.CSS("#token-form button")))
	p.Await("the board", `!document.getElementById("board").hidden`)
	p.Eval(`window.confirm = (question) => { window.question = question; return true; }`)
	p.Fill("operator", "change", "e2e.operator")
	return p
}

func TestTaskqueueTheAdminPageInABrowser(t *testing.T) {
	broken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	dead := enqueued(t, labSession, "/queue/", `[{"task":4,"task_type":2,"retry":0,"data":{"url":"`+broken.URL+`/gone"}}]`)[0]
	mine, others := scheduledMessages(t, labSession, 12), scheduledMessages(t, otherSession, 1)
	await.True(t, "the dead letter", func() bool { return jobStatus(t, labSession, dead) == "failed" })

	p := queuePage(t)
	p.depth(13)
	p.retryDead(dead)
	p.pauseAndResume()
	p.pauseALaboratory()
	light, _ := p.scheme("light")
	dark, _ := p.scheme("dark")
	p.Pictures("queue-admin")
	if light == dark {
		t.Errorf("light and dark look the same: %s", light)
	}
	p.cancelMany(12)
	for _, id := range mine {
		if got := jobStatus(t, labSession, id); got != "cancelled" {
			t.Errorf("%s is %s", id, got)
		}
	}
	if got := jobStatus(t, otherSession, others[0]); got != "scheduled" {
		t.Errorf("the other laboratory's job is %s", got)
	}
	if text := p.Eval("document.body.innerText"); strings.Contains(text, "9812399999") || strings.Contains(text, "Hidden text") {
		t.Error("the page shows what a job carries")
	}
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
	call(t, otherSession, "POST", "/cancelJob/", `{"job_id":["`+others[0]+`"]}`)
}

// depth waits until the lane of the scheduled messages shows n jobs.
func (p page) depth(n int) {
	p.T.Helper()
	p.Await("the depth", fmt.Sprintf(`[...document.querySelectorAll('#lanes tr[data-lane^="whatsapp"]')].some((tr) => tr.cells[4].textContent === "%d")`, n))
	p.Await("what fails", `document.querySelectorAll("#health tbody tr").length > 0`)
	p.Await("the schedule", `document.getElementById("ahead-text").textContent.includes("later")`)
}

// retryDead finds the dead letter by its reason and retries it.
func (p page) retryDead(id string) {
	p.T.Helper()
	p.Fill("kind", "change", "failed")
	p.Fill("reason", "input", "http_4")
	p.Do(chromedp.Click(chromedp.CSS("#search button")))
	line := fmt.Sprintf(`document.querySelector('#jobs tr[data-job="%s"] button')`, id)
	p.Await("the dead letter in the list", line+" !== null")
	p.Eval(line + ".click()")
	p.Await("its life", `document.getElementById("life").dataset.state === "failed" && document.getElementById("life-body").textContent.includes("HTTP 404")`)
	p.Do(chromedp.Click(chromedp.CSS(`[data-act="retry"]`)))
	p.Await("its revival", `document.getElementById("life").dataset.state === "scheduled" && document.getElementById("life-answer").textContent.includes("two minutes")`)
	if got := jobStatus(p.T, labSession, id); got != "scheduled" {
		p.T.Errorf("the retried job is %s", got)
	}
}

func (p page) pauseAndResume() {
	p.T.Helper()
	paused := `document.querySelector('[data-tile="Paused channels"] strong').textContent`
	for _, want := range []string{"1", "0"} {
		p.Eval(`document.querySelector('[data-pause="whatsapp"]').click()`)
		p.Await("paused channels", paused+` === "`+want+`"`)
	}
	if got := p.Eval(`window.question`); got != "Resume whatsapp? 0 jobs are due and start at once." {
		p.T.Errorf("the question before the end of a pause is %q", got)
	}
}

// pauseALaboratory pauses a laboratory that no other test uses, and resumes it.
func (p page) pauseALaboratory() {
	p.T.Helper()
	p.Fill("hold-lab", "input", "4711")
	p.Do(chromedp.Click(chromedp.CSS("#hold-button")))
	p.Await("the pause", `document.getElementById("held").textContent.includes("laboratory 4711")`)
	p.Eval(`document.querySelector('[data-resume="laboratory 4711"]').click()`)
	p.Await("its end", `document.getElementById("held").hidden && window.question.startsWith("Resume laboratory 4711?")`)
}

// cancelMany cancels laboratory 12's scheduled messages after a preview.
func (p page) cancelMany(n int) {
	p.T.Helper()
	p.Fill("action", "change", "cancel")
	p.Fill("bulk-state", "input", "scheduled")
	p.Fill("bulk-lab", "input", "12")
	p.Fill("bulk-channel", "input", "whatsapp")
	p.Do(chromedp.Click(chromedp.CSS("#preview")))
	p.Await("the preview", fmt.Sprintf(`document.getElementById("apply").textContent === "Cancel %d jobs" && document.querySelectorAll("#bulk-first li").length === 10`, n))
	p.Do(chromedp.Click(chromedp.CSS("#apply")))
	p.Await("the end", fmt.Sprintf(`document.getElementById("bulk-answer").textContent.startsWith("Done: %d cancelled")`, n))
}
