package email_test

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

func TestAttachmentsHaveHarmlessNamesAndSniffedTypes(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	at := files(t)
	if _, err := send(t, newProvider(t, s, nil, nil), withFiles(at+"/100/..%2F..%2Fetc%5Cr%C3%A9sum%C3%A9%22.pdf?sig=1", at+"/a/report.docx", at+"/page.html", at+"/7/")); err != nil {
		t.Fatal(err)
	}
	_, parts, bodies := read(t, s.accepted()[0].text)
	var got []string
	for _, p := range parts[1:] {
		kind, values, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		name, err := new(mime.WordDecoder).DecodeHeader(values["name"])
		if err != nil {
			t.Fatal(err)
		}
		disposition, _, _ := strings.Cut(p.Header.Get("Content-Disposition"), ";")
		got = append(got, disposition+" "+name+" "+kind)
	}
	want := []string{"attachment résumé_.pdf application/pdf",
		"attachment report.docx application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"attachment page.html application/octet-stream", "attachment 7 application/pdf"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.HasPrefix(bodies[1], []byte("JVBERi0xLjcg")) {
		t.Errorf("not base64 of the file: %.20s", bodies[1])
	}
}

// TestAttachmentsThatCannotBeHadFailTheMessage checks also that such a failure says nothing about the mail server: the
// unreachable files of one laboratory must not pause the mails of all others.
func TestAttachmentsThatCannotBeHadFailTheMessage(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	p := newProvider(t, s, nil, nil)
	at := files(t)
	big, many := at+"/9437184/f.pdf", make([]string, 11)
	for i := range many {
		many[i] = at + "/1/f"
	}
	for _, c := range []struct {
		name, reason, class string
		urls                []string
	}{
		{"missing", "file_missing", "permanent", []string{at + "/gone"}},
		{"a redirect", "file_missing", "permanent", []string{at + "/moved"}},
		{"one too large", "file_too_large", "permanent", []string{at + "/10485761/f.pdf"}},
		{"together too large", "files_too_large", "permanent", []string{big, big, big}},
		{"too many", "too_many_files", "permanent", many},
		{"inside the house", "file_refused", "permanent", []string{"http://169.254.169.254/latest"}},
		{"compressed", "file_packed", "permanent", []string{at + "/packed.pdf"}},
		{"busy", "file_unreachable", "retry", []string{at + "/busy"}},
		{"no one there", "file_unreachable", "retry", []string{"http://127.0.0.1:1/"}},
	} {
		_, err := send(t, p, withFiles(c.urls...))
		if f := job.AsFailure(err); provider.Outcome(err) != c.class || f.Reason != c.reason || !f.OfMessage {
			t.Errorf("%s: %s %s, of the message %t (%v)", c.name, provider.Outcome(err), f.Reason, f.OfMessage, err)
		}
	}
	if len(s.accepted()) != 0 {
		t.Error("a message without its attachments was sent")
	}
}

// TestASlowFileServerOfOneLaboratoryLeavesASlotToTheOthers: the file server of laboratory 1 accepts connections and
// sends nothing. Its messages must not take all slots for messages with attachments, because the reports of the other
// laboratories need them.
func TestASlowFileServerOfOneLaboratoryLeavesASlotToTheOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	p := newProvider(t, s, nil, nil)
	asked := make(chan struct{}, 100)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(slow.Close)
	ctx, stop := context.WithCancel(t.Context())
	attempt := func(ctx context.Context, lab int64, url string) *job.Failure {
		body := &job.Body{Task: 2, TaskType: 1, LabID: lab, Data: []byte(withFiles(url))}
		_, err := p.Handle(ctx, worker.Delivery{ID: jobID, Body: body})
		if err == nil {
			return nil
		}
		return job.AsFailure(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(stop)
	for range 3 {
		all.Go(func() { attempt(ctx, 1, slow.URL) })
		<-asked
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if f := attempt(short, 1, slow.URL); f == nil || f.Reason != "attachments_busy" {
		t.Errorf("a fourth message of laboratory 1: %+v, want it postponed", f)
	}
	for range 2 {
		if f := attempt(ctx, 2, files(t)+"/100/report.pdf"); f != nil {
			t.Errorf("the report of laboratory 2: %+v, want it sent", f)
		}
	}
	if n := len(s.accepted()); n != 2 {
		t.Errorf("%d messages sent, want 2", n)
	}
}

// TestACampaignWithAttachmentsIsNotClaimedOverAndOver: a laboratory sends a thousand messages with attachments,
// and its file server does not answer. Messages that find no slot must not keep the queue busy, because all
// laboratories share it.
func TestACampaignWithAttachmentsIsNotClaimedOverAndOver(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	jobs := make([]*job.Body, 1000)
	for i := range jobs {
		jobs[i] = &job.Body{Task: 2, TaskType: 1, LabID: 12, Flow: job.LabFlow(12), Data: []byte(withFiles(silent.URL + "/f.pdf"))}
	}
	p := newProvider(t, serve(t, script{}), nil, nil)
	ended, claims := workertest.Deliver(t, workertest.NewQueue(), p, job.Email, jobs, 3*time.Second)
	if claims == 0 || claims > 500 || len(ended) > 0 {
		t.Errorf("%d claims, ended %v; want at most 500 claims while the files do not come", claims, ended)
	}
}
