package email_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/counterpart"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// eximConfig keeps every message in the queue. The reply depends on the local part of the recipient.
const eximConfig = `spool_directory = DIR/spool
log_file_path = DIR/%slog
pid_file_path = DIR/pid
primary_hostname = mail.example.org
keep_environment =
queue_only = true
host_lookup =
rfc1413_hosts =
smtputf8_advertise_hosts = *
message_size_limit = 64K
recipients_max = 3
recipients_max_reject = false
acl_smtp_rcpt = rcpt
acl_smtp_data = data

begin acl
rcpt:
  defer
    local_parts = greylisted
    !condition = ${if exists{DIR/known}}
    message = 450 4.7.1 Greylisted, try again later
  defer
    local_parts = full
    message = 452 4.2.2 Mailbox full
  deny
    local_parts = quota
    message = 552 5.2.2 Quota exceeded
  deny
    local_parts = unknown
    message = 550 5.1.1 No such user
  warn
    local_parts = slow
    set acl_m_delay = 3s
  accept
data:
  defer
    condition = ${if match{$h_subject:}{later}}
    message = 451 4.3.2 Not now
  deny
    condition = ${if match{$h_subject:}{spam}}
    message = 554 5.7.1 This looks like spam
  warn
    condition = ${if def:acl_m_delay}
    delay = 3s
  accept

begin routers
all:
  driver = accept
  transport = all

begin transports
all:
  driver = appendfile
  file = DIR/inbox
`

// exim is a real mail server in a process.
type exim struct {
	t    *testing.T
	dir  string
	port int
}

// startExim starts the Exim downloaded by devstack.
func startExim(t *testing.T) *exim {
	t.Helper()
	counterpart.Command(t, "exim")       // skips the test if Exim is missing
	dir, err := os.MkdirTemp("", "exim") //nolint:usetesting // Exim may run as a user who cannot read t.TempDir
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	e := &exim{t: t, dir: dir, port: freeport.One(t)}
	config := filepath.Join(e.dir, "exim.conf")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(eximConfig, "DIR", e.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	counterpart.Start(t, e.command("-bdf", "-oX", fmt.Sprintf("127.0.0.1.%d", e.port)), fmt.Sprintf("127.0.0.1:%d", e.port))
	return e
}

func (e *exim) command(args ...string) *exec.Cmd {
	return counterpart.Command(e.t, "exim", append([]string{"-C", filepath.Join(e.dir, "exim.conf")}, args...)...)
}

// knows makes the server accept greylisted recipients.
func (e *exim) knows() {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, "known"), nil, 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// accepted returns the recipients of the messages that the server accepted, and the number of messages.
func (e *exim) accepted() (recipients string, messages int) {
	e.t.Helper()
	out, err := e.command("-bpu").Output()
	if err != nil {
		e.t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		switch text := strings.TrimSpace(line); {
		case strings.Contains(text, "<"):
			messages++
		case text != "":
			list = append(list, strings.TrimSuffix(text, "@example.org"))
		}
	}
	return strings.Join(list, " "), messages
}

func (e *exim) provider(port int) *email.Provider {
	return newProvider(e.t, &server{host: "127.0.0.1", port: port}, nil, nil)
}

func mailTo(to, cc, subject string) []byte {
	return fmt.Appendf(nil, `{"to":[%q],"cc":[%q],"subject":%q,"message":"<p>It is ready, Jürgen.</p>"}`, to+"@example.org", cc+"@example.org", subject)
}

func TestEximAnswersAndWhatTheMailBecomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to, cc, subject, outcome, excerpt, accepted string
	}{
		"accepted":               {"asha", "ravi", "ready", "sent", "", "asha ravi"},
		"one is greylisted":      {"asha", "greylisted", "ready", "retry", "", "asha"},
		"one mailbox is full":    {"full", "ravi", "ready", "retry", "", "ravi"},
		"one quota is exceeded":  {"asha", "quota", "ready", "sent", "The mail server refused cc 1", "asha"},
		"the patient is unknown": {"unknown", "ravi", "ready", "sent", "The mail server refused to 1", "ravi"},
		"all are unknown":        {"unknown", "unknown", "ready", "permanent", "", ""},
		"the message comes late": {"asha", "ravi", "later", "retry", "", ""},
		"the message is spam":    {"asha", "ravi", "spam", "elsewhere", "", ""},
		"a large message":        {"asha", "ravi", strings.Repeat("x", 80<<10), "permanent", "", ""},
		"a slow final reply":     {"slow", "ravi", "ready", "sent", "", "slow ravi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startExim(t)
			result, err := e.provider(e.port).Handle(t.Context(), worker.Delivery{ID: jobID, Body: &job.Body{Data: mailTo(c.to, c.cc, c.subject)}})
			if provider.Outcome(err) != c.outcome || err == nil && result.Excerpt != c.excerpt {
				t.Errorf("%s, %q, %v; want %s, %q", provider.Outcome(err), result.Excerpt, err, c.outcome, c.excerpt)
			}
			if got, n := e.accepted(); got != c.accepted || n > 1 {
				t.Errorf("accepted for %q in %d messages, want %q in one", got, n, c.accepted)
			}
			t.Logf("%-24s → %s %q %v → %q", name, provider.Outcome(err), result.Excerpt, err, c.accepted)
		})
	}
}

// TestEximTakesAGreylistedCopyLater checks that the patient gets the message at once, and no second one when the server
// accepts the copy later.
func TestEximTakesAGreylistedCopyLater(t *testing.T) {
	t.Parallel()
	e := startExim(t)
	p, body := e.provider(e.port), &job.Body{Data: mailTo("asha", "greylisted", "ready")}
	for attempt := range 3 {
		if attempt == 2 {
			e.knows()
		}
		result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body})
		if body.Progress = result.Progress; (err == nil) != (attempt == 2) {
			t.Errorf("attempt %d: %v", attempt+1, err)
		}
	}
	if got, n := e.accepted(); n != 2 || len(strings.Fields(got)) != 2 || !strings.Contains(got, "asha") || !strings.Contains(got, "greylisted") {
		t.Errorf("%d messages for %q, want one for each recipient", n, got)
	}
}

// TestEximsLostReplyIsDoubt: the server has the message, but its reply is lost. The outcome must be unknown, and the
// mail must not be sent again automatically.
func TestEximsLostReplyIsDoubt(t *testing.T) {
	t.Parallel()
	e := startExim(t)
	link := netfault.New(t, fmt.Sprintf("127.0.0.1:%d", e.port))
	done := make(chan error, 1)
	go func() {
		_, err := e.provider(link.Port()).Handle(t.Context(), worker.Delivery{ID: jobID, Body: &job.Body{Data: mailTo("slow", "ravi", "ready")}})
		done <- err
	}()
	await.True(t, "the message on its way", func() bool { return len(glob(t, filepath.Join(e.dir, "spool", "input", "*-D"))) > 0 })
	link.Cut()
	select {
	case err := <-done:
		if provider.Outcome(err) != "unknown" {
			t.Errorf("%s, %v; want unknown", provider.Outcome(err), err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the lost reply is waited for")
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
