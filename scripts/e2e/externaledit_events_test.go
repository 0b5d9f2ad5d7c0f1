package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// event is one server-sent event.
type event struct {
	id, name string
	data     map[string]any
}

// eventStream receives the events of a stream in the background.
type eventStream struct {
	t      *testing.T
	events chan event
	stop   context.CancelFunc
}

// follow opens the event stream of a report.
func follow(t *testing.T, session string, report int, last string) *eventStream {
	t.Helper()
	return followPath(t, session, fmt.Sprintf("%s/%d/events", editPath, report), last)
}

// followPath opens an event stream and returns once the service has sent the reader's position.
func followPath(t *testing.T, session, path, last string) *eventStream {
	t.Helper()
	s := openStream(t, session, path, last)
	if first := s.next(); first.name != "" || first.id == "" {
		t.Fatalf("first %+v", first)
	}
	return s
}

// openStream opens a path of server-sent events. last, if not empty, is the Last-Event-ID.
func openStream(t *testing.T, session, path, last string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, stack.Endpoints.Gateway+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", "sessionid="+session)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", response.Status, response.Header.Get("Content-Type"))
	}
	s := &eventStream{t: t, events: make(chan event, 100), stop: cancel}
	go func() {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 16<<20) // a worklist is a single line
		s.read(lines)
	}()
	return s
}

func (s *eventStream) read(lines *bufio.Scanner) {
	defer close(s.events)
	var e event
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			_ = json.Unmarshal([]byte(value), &e.data)
		case "":
			if e.id != "" || e.name != "" {
				s.events <- e
			}
			e = event{}
		}
	}
}

func (s *eventStream) next() event {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok {
			s.t.Fatal("the stream ended")
		}
		return e
	case <-time.After(10 * time.Second):
		s.t.Fatal("no event within 10 s")
		return event{}
	}
}

// want checks the names of the next events and returns the last one.
func (s *eventStream) want(names ...string) (last event) {
	s.t.Helper()
	for _, name := range names {
		if last = s.next(); last.name != name {
			s.t.Fatalf("event %q %v, want %q", last.name, last.data, name)
		}
	}
	return last
}

func (e event) field(name string) any {
	data, _ := e.data["data"].(map[string]any)
	return data[name]
}

func TestExternalEditEventsReachEverybodyAndAreReplayed(t *testing.T) {
	t.Parallel()
	report, asha, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit",
		"report_edit_takeover")
	stream, second := follow(t, asha, report, ""), follow(t, "demo-doctor", report, "")
	id, token := openSession(t, asha, report, creation)
	created := stream.want("session_created")
	if created.data["channel"] != fmt.Sprintf("external_edit_%d", report) || created.data["event"] != "session_created" ||
		created.field("edit_id") != float64(id) ||
		created.field("lab_id") != 12.0 || created.field("is_active") != 1.0 || created.field("revision") != 0.0 {
		t.Errorf("%v", created.data)
	}
	second.want("session_created")
	second.stop()
	saved := mustUpload(t, id, token, savedPair(t, "events"))
	uploaded := stream.want("files_uploaded")
	if uploaded.field("revision") != 1.0 || uploaded.field("word_file_path") != saved.json(t)["word_s3_path"] ||
		uploaded.field("last_saved_at") == nil {
		t.Errorf("%v", uploaded.data)
	}
	openSession(t, chief, report, strings.Replace(creation, "}", `,"take_over":true}`, 1))
	ended := stream.want("session_ended")
	if ended.field("reason") != "taken_over" || ended.field("is_active") != 0.0 {
		t.Errorf("%v", ended.data)
	}
	changed := stream.want("session_created", "authorship_changed")
	if changed.field("previous_author_id") != created.field("author_id") ||
		changed.field("previous_author_name") != created.field("author_name") ||
		changed.field("author_id") == created.field("author_id") {
		t.Errorf("%v", changed.data)
	}
	back := follow(t, "demo-doctor", report, created.id) // at the position of the second reader
	back.want("files_uploaded", "session_ended", "session_created", "authorship_changed")
	for _, e := range []event{created, uploaded, ended, changed} {
		text, _ := json.Marshal(e.data)
		if strings.Contains(string(text), "eyJ") || strings.Contains(string(text), "signature=") {
			t.Errorf("an event carries a token or a link: %s", text)
		}
	}
}

func TestExternalEditWhoFollows(t *testing.T) {
	t.Parallel()
	report := editReport(t)
	path := fmt.Sprintf("%s/%d/events", editPath, report)
	for _, c := range []struct {
		name, session, path string
		want                int
	}{
		{"no one", "", path, 401},
		{"another laboratory", "demo-second-lab-user", path, 404},
		{"an organisation", "demo-organization", path, 403},
		{"no such report", "demo-lab-user", editPath + "/1/events", 404},
		{"no number", "demo-lab-user", editPath + "/x/events", 400},
	} {
		if got := call(t, c.session, "GET", c.path, ""); got.status != c.want || got.json(t)["code"] != float64(c.want) {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.want)
		}
	}
}

// TestExternalEditKilledDuringAHundredUploads kills the service repeatedly while clients save and retry as a desktop
// client does. Each acknowledged save must be kept.
func TestExternalEditKilledDuringAHundredUploads(t *testing.T) {
	const sessions, saves, kills = 20, 5, 6
	saver := func(i int) *savingClient {
		report := editReport(t)
		id, token := openSession(t, editor(t, 12, "report_edit"), report, creation)
		return &savingClient{report: report, id: id, token: token, name: fmt.Sprint("client ", i),
			files: map[string][]formFile{}}
	}
	clients := make([]*savingClient, sessions)
	for i := range clients {
		clients[i] = saver(i)
		for n := range saves {
			clients[i].texts = append(clients[i].texts, fmt.Sprintf("%s save %d", clients[i].name, n))
			clients[i].files[clients[i].texts[n]] = largePair(t, clients[i].texts[n])
		}
	}
	done := make(chan struct{}, sessions)
	for _, c := range clients {
		go func() {
			c.run(t.Context())
			done <- struct{}{}
		}()
	}
	for range kills {
		await.True(t, "uploads under way", func() bool { return uploadsUnderWay(t) > 0 })
		if err := stack.Kill("externaledit"); err != nil {
			t.Fatal(err)
		}
		restart(t, "externaledit")
	}
	for range clients {
		<-done
	}
	acknowledged, retried := 0, 0
	for _, c := range clients {
		acknowledged += c.acknowledged
		retried += c.retried
		c.wantLinked(t)
	}
	t.Logf("%d saves were acknowledged over %d kills, %d attempts were repeated; every report has the newest acknowledged pair", acknowledged, kills, retried)
	execSQL(t, "UPDATE external_edit_upload SET started_at = 0") // as if time had passed
	await.True(t, "the sweeper's end", func() bool { return uploadsUnderWay(t) == 0 })
	for _, c := range clients {
		c.wantNoOrphans(t)
	}
}

func uploadsUnderWay(t *testing.T) (n int) {
	t.Helper()
	queryRow(t, "SELECT COUNT(*) FROM external_edit_upload").scan(&n)
	return n
}
