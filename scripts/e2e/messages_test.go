package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
)

// pushProvider accepts push messages like FCM.
type pushProvider struct {
	*httptest.Server

	mu     sync.Mutex
	bodies []string // guarded by mu
}

func newPushProvider(t *testing.T) *pushProvider {
	t.Helper()
	p := &pushProvider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bodies = append(p.bodies, string(body))
		_, _ = io.WriteString(w, `{"name":"projects/lab-app/messages/1"}`)
	}))
	t.Cleanup(p.Close)
	return p
}

// pushed returns the number of messages about a report to the devices of its laboratory.
func (p *pushProvider) pushed(report int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, body := range p.bodies {
		if strings.Contains(body, fmt.Sprintf(`"lrr_id":"%d"`, report)) && strings.Contains(body, "_lab_41") {
			n++
		}
	}
	return n
}

var refusedForConfiguration = regexp.MustCompile(`taskqueue_refused_total\{reason="not_configured"\} [1-9]`)

// pushRow returns the SQL statement in docs/messages.md that configures the task queue's provider of push messages.
func pushRow(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```sql\n([^`]*'push'[^`]*)\n```\n").FindStringSubmatch(string(page))
	if found == nil {
		t.Fatal("docs/messages.md has no statement for push")
	}
	return found[1]
}

// verbOf runs a verb of a service with the stack's settings and changes.
func verbOf(t *testing.T, service, verb string, change map[string]string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), stack.Endpoints.Commands[service][0], verb)
	for _, list := range []map[string]string{stack.Endpoints.Environ[service], change} {
		for name, value := range list {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ledgerPushesWaitForAProvider has half of push configured: notifications subscribes devices, but the task queue has no
// provider. No notice may be lost, and the board and the metrics must report the state. After the other half of
// docs/messages.md the notices are sent by themselves.
func ledgerPushesWaitForAProvider(t *testing.T) {
	if got := call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"ledger-push","platform":"web"}`); got.status != http.StatusOK {
		t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	provider, account, secrets := newPushProvider(t), fcmtest.Start(t), t.TempDir()
	change := replaceUntilTheEnd(t, "taskqueue", "TASKQUEUE_ENVIRONMENT", "production", "TASKQUEUE_PROVIDER_SECRETS_DIR", secrets,
		"TASKQUEUE_ALLOWED_HOSTS", strings.TrimPrefix(provider.URL, "http://")+","+strings.TrimPrefix(account.URL, "http://"))
	admin := "http://127.0.0.1:" + stack.Endpoints.Environ["notifications"]["NOTIFICATIONS_ADMIN_PORT"]
	await.True(t, "the metric of pushes that wait", func() bool {
		return strings.Contains(callAt(t, admin, "", "GET", "/metrics", "").body, `notifications_push_unserved{reason="no_provider"} 1`)
	})
	if health := callAt(t, admin, "", "GET", "/health", "").body; !strings.Contains(health, "no provider for push") || !strings.Contains(health, "messages.md") {
		t.Errorf("/health = %s, want what is missing and where to read", health)
	}
	first, second := fresh(t, "7.9"), fresh(t, "8.1")
	await.Nil(t, "the reason on the board", func() error {
		if off := boardOf(t, ledgerUser).Off; off == nil || off.Reason != "push_waits" || off.Since == "" {
			return fmt.Errorf("%+v", off)
		}
		return nil
	})
	first.inbox(drNorth, noticeTitle) // inboxes need no provider
	const rows = "SELECT COUNT(*) FROM outbox_notifications WHERE kind = 'taskqueue.push' AND last_error LIKE '%no provider%'"
	await.True(t, "a push that was refused for want of a provider", func() bool { return count(t, rows) > 0 })
	if n := count(t, "SELECT COUNT(*) FROM outbox_notifications WHERE available_at = 9223372036854775807"); n != 0 {
		t.Fatalf("%d messages are parked, want none", n)
	}
	queue := "http://127.0.0.1:" + stack.Endpoints.Environ["taskqueue"]["TASKQUEUE_ADMIN_PORT"]
	if got := callAt(t, queue, "", "GET", "/metrics", "").body; !refusedForConfiguration.MatchString(got) {
		t.Error("taskqueue_refused_total of reason not_configured is 0")
	}
	if err := os.WriteFile(filepath.Join(secrets, "fcm_key"), []byte(account.KeyFile().Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	execSQL(t, strings.Replace(pushRow(t), `"kind":"fcm"`, `"kind":"fcm","base_url":"`+provider.URL+`"`, 1))
	defer execSQL(t, "DELETE FROM tq_provider WHERE channel = 'push'")
	if out, err := verbOf(t, "taskqueue", "providers", change); err != nil || !strings.Contains(out, "in force") {
		t.Errorf("taskqueue providers: %v\n%s", err, out)
	}
	await.True(t, "both notices at the provider", func() bool { return provider.pushed(first.report) > 0 && provider.pushed(second.report) > 0 })
	await.True(t, "no push waits, and the board says nothing", func() bool {
		return count(t, "SELECT COUNT(*) FROM outbox_notifications WHERE kind = 'taskqueue.push'") == 0 && boardOf(t, ledgerUser).Off == nil &&
			strings.Contains(callAt(t, admin, "", "GET", "/metrics", "").body, `notifications_push_unserved{reason="no_provider"} 0`)
	})
}

// ledgerTypeIsSwitchedOff switches the type of critical results off for the installation, and on again. A result that
// is called meanwhile is not announced; every other result is announced once.
func ledgerTypeIsSwitchedOff(t *testing.T) {
	const active = "UPDATE NotificationTypesMaster SET is_active = %d WHERE id = 2"
	execSQL(t, fmt.Sprintf(active, 0))
	on := sync.OnceFunc(func() { execSQL(t, fmt.Sprintf(active, 1)) })
	defer on()
	called, waits := judged(t, "7.9"), judged(t, "8.1")
	await.True(t, "the reason on the board", func() bool { off := boardOf(t, ledgerUser).Off; return off != nil && off.Reason == "unavailable" })
	if n := count(t, "SELECT COUNT(*) FROM outbox_callout WHERE available_at = 9223372036854775807"); n != 0 {
		t.Errorf("%d messages are parked, want none", n)
	}
	called.called()
	on()
	waits.inbox(drNorth, noticeTitle)
	called.inbox(drNorth)
	await.True(t, "the board says nothing any more", func() bool { return boardOf(t, ledgerUser).Off == nil })
	waits.inbox(drNorth, noticeTitle)
}
