package mailboxpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app/mailboxpage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
)

type movable struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (m *movable) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *movable) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = m.at.Add(d)
}

func open(t *testing.T) (*mailbox.Store, *movable, *httptest.Server) {
	t.Helper()
	clk := &movable{at: time.UnixMilli(1_790_000_000_000)}
	store := mailbox.NewStore(redistest.Start(t).Client(), clk, slog.New(slog.DiscardHandler))
	h := mailboxpage.Handler(store, slog.New(slog.DiscardHandler))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return store, clk, server
}

func call(t *testing.T, method, url string, header http.Header) (int, string, http.Header) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		q.Header[name] = values
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body), answer.Header
}

func list(t *testing.T, url string) []mailbox.Message {
	t.Helper()
	code, body, _ := call(t, http.MethodGet, url, nil)
	var out struct{ Messages []mailbox.Message }
	if err := json.Unmarshal([]byte(body), &out); err != nil || code != 200 {
		t.Fatalf("%d %s: got %v, want 200", code, body, err)
	}
	return out.Messages
}

func TestMessagesAreFilteredAgedAndCapped(t *testing.T) {
	t.Parallel()
	store, clk, server := open(t)
	for i := range 1005 {
		m := mailbox.Message{JobID: fmt.Sprint(i), Channel: []string{"sms", "email"}[i%2], To: []string{fmt.Sprintf("+91%d", i)}, AtMs: clk.Now().UnixMilli()}
		if err := store.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	all := list(t, server.URL+"/outbox/messages")
	if len(all) != mailbox.MaxMessages || all[0].JobID != "1004" {
		t.Errorf("%d messages, first %s", len(all), all[0].JobID)
	}
	if got := list(t, server.URL+"/outbox/messages?channel=SMS&to=911004"); len(got) != 1 || got[0].JobID != "1004" {
		t.Errorf("filtered: %+v", got)
	}
	clk.add(mailbox.Keep + time.Second)
	if got := list(t, server.URL+"/outbox/messages"); len(got) != 0 {
		t.Errorf("%d messages are older than a day", len(got))
	}
}

func TestClearingIsRefusedToOtherSites(t *testing.T) {
	t.Parallel()
	store, clk, server := open(t)
	if err := store.Add(t.Context(), mailbox.Message{JobID: "1", AtMs: clk.Now().UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := call(t, http.MethodDelete, server.URL+"/outbox/messages", http.Header{"Sec-Fetch-Site": {"cross-site"}}); code != http.StatusForbidden {
		t.Errorf("cross-site DELETE: %d", code)
	}
	if code, _, _ := call(t, http.MethodDelete, server.URL+"/outbox/messages", nil); code != http.StatusNoContent || len(list(t, server.URL+"/outbox/messages")) != 0 {
		t.Errorf("DELETE: %d", code)
	}
}

func TestThePageLoadsNothingFromElsewhereAndWarns(t *testing.T) {
	t.Parallel()
	_, _, server := open(t)
	for path, want := range map[string]string{"/outbox/": "Development only", "/outbox/outbox.js": "textContent", "/outbox/lab.css": "prefers-color-scheme: dark", "/outbox/outbox.css": "iframe"} {
		code, body, header := call(t, http.MethodGet, server.URL+path, nil)
		if code != 200 || !strings.Contains(body, want) || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, code, header)
		}
		if strings.Contains(body, "http://") || strings.Contains(body, "https://") || strings.Contains(body, "innerHTML") {
			t.Errorf("%s reaches elsewhere", path)
		}
	}
}

func TestTheStoreWritesWhatItRecordedBeforeItEnds(t *testing.T) {
	t.Parallel()
	store, clk, _ := open(t)
	for i := range 250 {
		store.Record(mailbox.Message{JobID: fmt.Sprint(i), AtMs: clk.Now().UnixMilli()})
	}
	ctx, cancel := cancelled(t)
	defer cancel()
	if err := store.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := store.List(t.Context(), "", "")
	if err != nil || len(got) != 250 {
		t.Errorf("%d messages, %v", len(got), err)
	}
}

func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
