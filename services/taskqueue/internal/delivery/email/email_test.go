package email_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type fixed time.Time

func (f fixed) Now() time.Time { return time.Time(f) }

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

const jobID = job.ID("00301KABCDEFGHJKMNPQRSTVWXYZ0")

// newProvider returns a provider for the server; more contains settings in addition to host, port and from.
func newProvider(t *testing.T, s *server, roots *tls.Config, more map[string]any) *email.Provider {
	t.Helper()
	settings := map[string]any{"kind": "smtp", "host": s.host, "port": s.port, "tls": "none", "from": "no-reply@lab.example", "timeout_seconds": 10}
	for name, value := range more {
		settings[name] = value
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}, MaxBody: email.MaxFileBytes})
	t.Cleanup(client.Close)
	p, err := email.New(raw, provider.Deps{Files: client, Clock: fixed(noon()), TLS: roots,
		Secrets: provider.Directory{Root: fstest.MapFS{"right": {Data: []byte("s3cret")}, "wrong": {Data: []byte("x")}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func send(t *testing.T, p *email.Provider, data string) (job.Result, error) {
	t.Helper()
	return p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: &job.Body{Task: 2, TaskType: 1, Data: []byte(data)}})
}

const simple = `{"to":["Asha R <asha@example.org>"],"cc":["b@example.org"],"bcc":["secret@example.org","ASHA@example.org"],"subject":"Résumé\r\nBcc: x@y\u0000\u0085","message":"<p>Ready</p>","sender_name":"Asha Labs","sender_email":"reports@lab.example"}`

func read(t *testing.T, text []byte) (*mail.Message, []*multipart.Part, [][]byte) {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	kind, values, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return m, nil, nil
	}
	var parts []*multipart.Part
	var bodies [][]byte
	for r := multipart.NewReader(m.Body, values["boundary"]); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return m, parts, bodies
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		parts, bodies = append(parts, part), append(bodies, body)
	}
}

func TestAMessageArrivesWithBlindCopiesInTheEnvelopeAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	p := newProvider(t, s, nil, nil)
	for range 2 { // a retry has the same Message-ID
		result, err := send(t, p, simple)
		if err != nil || result.MessageID != string(jobID)+"@lab.example" || !result.Sent {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	got := s.accepted()
	if len(got) != 2 {
		t.Fatalf("%d messages", len(got))
	}
	want := received{from: "no-reply@lab.example", to: []string{"asha@example.org", "b@example.org", "secret@example.org"}, text: got[0].text}
	if diff := cmp.Diff(want, got[0], cmp.AllowUnexported(received{})); diff != "" {
		t.Error(diff)
	}
	m, _, _ := read(t, got[1].text)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || strings.TrimSpace(subject) != "Résumé  Bcc: x@y" {
		t.Errorf("subject %q, %v", subject, err)
	}
	for name, want := range map[string]string{"From": `"Asha Labs" <reports@lab.example>`, "To": `"Asha R" <asha@example.org>`, "Cc": "<b@example.org>",
		"Message-Id": "<" + string(jobID) + "@lab.example>", "Date": "Fri, 20 Nov 2026 12:00:00 +0000", "Bcc": "", "Reply-To": ""} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if body, _ := io.ReadAll(m.Body); !strings.Contains(string(body), "<p>Ready</p>") || strings.Contains(string(got[0].text), "secret@") {
		t.Errorf("text:\n%s", got[0].text)
	}
}

func TestAMessageWithoutReadableAddressesFailsAndNamesNone(t *testing.T) {
	t.Parallel()
	p := newProvider(t, serve(t, script{}), nil, nil)
	for _, data := range []string{`{"to":["asha at example"]}`, `{"to":["a@b.org"],"cc":["asha at example"]}`, `{"to":["a@b.org"],"bcc":["asha at example"]}`, `{}`} {
		_, err := send(t, p, data)
		if f := job.AsFailure(err); f.Reason != "bad_address" || !f.Permanent || strings.Contains(fmt.Sprint(err, f.Unwrap()), "asha") {
			t.Errorf("%s: %v, %v", data, err, f.Unwrap())
		}
	}
}

func TestTheTemplateIsTheTextWhenTheFlagSaysSo(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	p := newProvider(t, s, nil, map[string]any{"sender_domains": []string{"lab.example"}, "from_name": "Labs"})
	if _, err := send(t, p, `{"to":["a@b.org"],"subject":"x","message":"no","template":"<b>yes</b>","is_template":1,"sender_email":"boss@other.example"}`); err != nil {
		t.Fatal(err)
	}
	m, _, _ := read(t, s.accepted()[0].text)
	if body, _ := io.ReadAll(m.Body); strings.TrimSpace(string(body)) != "<b>yes</b>" {
		t.Errorf("body %q", body)
	}
	if from, reply := m.Header.Get("From"), m.Header.Get("Reply-To"); from != `"Labs" <no-reply@lab.example>` || reply != "<boss@other.example>" {
		t.Errorf("a foreign sender: From %s, Reply-To %s", from, reply)
	}
}

// files serves /<size in bytes>/<name> and some special paths. It returns the address.
func files(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			return
		case "/busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case "/moved":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
			return
		case "/packed.pdf":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b\x08"))
			return
		case "/a/report.docx":
			z := zip.NewWriter(w)
			f, _ := z.Create("word/document.xml")
			_, _ = f.Write([]byte("<x/>"))
			_ = z.Close()
			return
		case "/page.html":
			_, _ = w.Write([]byte("<html><script>alert(1)</script>"))
			return
		}
		var size int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d/", &size)
		_, _ = w.Write(append([]byte("%PDF-1.7 "), make([]byte, max(0, size-9))...))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func withFiles(urls ...string) string {
	raw, _ := json.Marshal(map[string]any{"to": []string{"a@b.org"}, "subject": "x", "message": "m", "files": urls})
	return string(raw)
}

func TestRepliesOfTheServerHaveTheirClass(t *testing.T) {
	t.Parallel()
	refuse := func(err error, list ...string) map[string]error {
		m := map[string]error{}
		for _, to := range list {
			m[to] = err
		}
		return m
	}
	for _, c := range []struct {
		name   string
		script script
		want   string
	}{
		{"accepted", script{}, "sent"},
		{"sender refused for now", script{mail: reply(451, 4, 3, 0)}, "retry"},
		{"sender refused for good", script{mail: reply(553, 5, 1, 8)}, "elsewhere"},
		{"recipient unknown", script{rcpt: refuse(reply(550, 5, 1, 1), "asha@example.org", "b@example.org", "secret@example.org")}, "permanent"},
		{"one recipient unknown", script{rcpt: refuse(reply(550, 5, 1, 1), "b@example.org")}, "sent"},
		{"all greylisted", script{rcpt: refuse(reply(450, 4, 7, 1), "asha@example.org", "b@example.org", "secret@example.org")}, "retry"},
		{"no relaying", script{rcpt: refuse(reply(550, 5, 7, 1), "asha@example.org", "b@example.org", "secret@example.org")}, "elsewhere"},
		{"message refused for now", script{data: reply(452, 4, 2, 2)}, "retry"},
		{"message too large", script{data: reply(552, 5, 3, 4)}, "permanent"},
		{"message refused as spam", script{data: reply(554, 5, 7, 1)}, "elsewhere"},
		{"connection lost after the message", script{hangUp: true}, "unknown"},
	} {
		result, err := send(t, newProvider(t, serve(t, c.script), nil, nil), simple)
		doubt := c.want == "unknown"
		if provider.Outcome(err) != c.want || result.Sent != (c.want == "sent" || doubt) || (err != nil && job.AsFailure(err).Repeatable != doubt) {
			t.Errorf("%s: %s %+v (%v), want %s", c.name, provider.Outcome(err), result, err, c.want)
		}
		if partial := c.name == "one recipient unknown"; partial != (result.Excerpt == "The mail server refused cc 1") {
			t.Errorf("%s: excerpt %q", c.name, result.Excerpt)
		}
	}
}

// TestARefusalOfTheCompleteMessagePausesNoMailServer: a laboratory's campaign is refused as spam, or because of its
// sender. That must not pause the mail server for all laboratories; a refused envelope sender is the account's.
func TestARefusalOfTheCompleteMessagePausesNoMailServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script script
		want   bool
	}{"spam": {script{data: reply(554, 5, 7, 1)}, true}, "sender": {script{mail: reply(550, 5, 7, 1)}, false}} {
		_, err := send(t, newProvider(t, serve(t, c.script), nil, nil), simple)
		if f := job.AsFailure(err); provider.Outcome(err) != "elsewhere" || f.OfMessage != c.want {
			t.Errorf("%s: %+v, want a failure of the message alone: %t", name, f, c.want)
		}
	}
}

// TestWhoIsTakenGetsTheMessageAtOnceAndTheOthersLater: one recipient of several has a mistyped address, a full mailbox
// or greylisting. The other recipients must get the message at once, and only that one is retried.
func TestWhoIsTakenGetsTheMessageAtOnceAndTheOthersLater(t *testing.T) {
	t.Parallel()
	s := serve(t, script{rcpt: map[string]error{"b@example.org": reply(450, 4, 7, 1), "secret@example.org": reply(550, 5, 1, 1)}})
	p := newProvider(t, s, nil, nil)
	body := &job.Body{Task: 2, TaskType: 1, Data: []byte(simple)}
	attempt := func() (job.Result, *job.Failure) {
		t.Helper()
		result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body})
		body.Progress = result.Progress
		if err == nil {
			return result, nil
		}
		return result, job.AsFailure(err)
	}
	result, failure := attempt()
	if failure == nil || failure.Permanent || !failure.OfMessage || failure.Patience < 4*time.Hour || !result.Sent ||
		!strings.Contains(failure.Message, "cc 1") || strings.Contains(failure.Message, "example.org") {
		t.Fatalf("first attempt: %+v, %+v; want a retry for cc 1 that says nothing of the server", result, failure)
	}
	if got := s.accepted(); len(got) != 1 || len(got[0].to) != 1 || got[0].to[0] != "asha@example.org" {
		t.Fatalf("first attempt: the server took %+v, want the message for asha alone", got)
	}
	if _, failure := attempt(); failure == nil || len(s.accepted()) != 1 {
		t.Fatalf("second attempt: %+v, %d messages; want a retry without another message", failure, len(s.accepted()))
	}
	s.take("b@example.org")
	result, failure = attempt()
	if failure != nil || result.Excerpt != "The mail server refused bcc 1" {
		t.Errorf("third attempt: %+v, %+v", result, failure)
	}
	got := s.accepted()
	if len(got) != 2 || len(got[1].to) != 1 || got[1].to[0] != "b@example.org" {
		t.Fatalf("the server took %+v, want the second message for b alone", got)
	}
	if first, second := messageID(got[0].text), messageID(got[1].text); first != second {
		t.Errorf("Message-ID %s and %s, want the same", first, second)
	}
}

func messageID(text []byte) string {
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return err.Error()
	}
	return m.Header.Get("Message-ID")
}

func TestTheReplyToTheCompleteMessageMayTakeLongerThanTheSession(t *testing.T) {
	t.Parallel()
	s := serve(t, script{slow: 1500 * time.Millisecond})
	if result, err := send(t, newProvider(t, s, nil, map[string]any{"timeout_seconds": 1}), simple); err != nil || !result.Sent {
		t.Errorf("%+v, %v; want the message sent once", result, err)
	}
	if n := len(s.accepted()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestDomainsOfOtherScriptsNeedNoExtension(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	if _, err := send(t, newProvider(t, s, nil, nil), `{"to":["a@münchen.example"],"subject":"s","message":"m"}`); err != nil {
		t.Fatal(err)
	}
	if got := s.accepted()[0]; got.to[0] != "a@xn--mnchen-3ya.example" || got.utf8 {
		t.Errorf("sent to %s, SMTPUTF8 %t; want the form that every server knows", got.to[0], got.utf8)
	}
}

// TestASenderInADomainOfAnotherScriptNeedsNoExtension: servers such as Amazon's refuse a From or a greeting that is not
// ASCII, and all messages of the laboratory failed.
func TestASenderInADomainOfAnotherScriptNeedsNoExtension(t *testing.T) {
	t.Parallel()
	s := serve(t, script{})
	p := newProvider(t, s, nil, map[string]any{"from": "no-reply@münchen.example", "sender_domains": []string{"München.example"}})
	data := `{"to":["a@b.org"],"subject":"s","message":"m","sender_email":"labor@münchen.example"}`
	result, err := send(t, p, data)
	if err != nil {
		t.Fatal(err)
	}
	got := s.accepted()[0]
	m, _, _ := read(t, got.text)
	const ascii = "@xn--mnchen-3ya.example"
	if from := m.Header.Get("From"); from != "<labor"+ascii+">" || got.from != "no-reply"+ascii || got.utf8 || !strings.HasSuffix(result.MessageID, ascii) {
		t.Errorf("From %s, envelope %s, SMTPUTF8 %t, Message-ID %s; want every domain in ASCII", from, got.from, got.utf8, result.MessageID)
	}
}

func TestNoAnswerAfterTheCompleteMessageIsDoubtAlsoWhenWeAreStopped(t *testing.T) {
	t.Parallel()
	p := newProvider(t, serve(t, script{mute: true}), nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	result, err := p.Handle(ctx, worker.Delivery{ID: jobID, Body: &job.Body{Data: []byte(simple)}})
	if provider.Outcome(err) != "unknown" || !job.AsFailure(err).Repeatable || !result.Sent {
		t.Errorf("%s %+v %v", provider.Outcome(err), result, err)
	}
}

func TestServersThatAreAwayAreTriedAgain(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := &server{host: "127.0.0.1", port: listener.Addr().(*net.TCPAddr).Port}
	_ = listener.Close()
	if _, err := send(t, newProvider(t, away, nil, nil), simple); provider.Outcome(err) != "retry" {
		t.Errorf("%s: got %v, want retry", provider.Outcome(err), err)
	}
}

func TestEncryptionAndAuthenticationAreAsConfigured(t *testing.T) {
	t.Parallel()
	own, roots := certificate(t)
	trust := &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	strange := &tls.Config{ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	user := func(tlsMode, secret string) map[string]any {
		return map[string]any{"tls": tlsMode, "user": "lab", "password_secret": secret}
	}
	for _, c := range []struct {
		name     string
		script   script
		trust    *tls.Config
		settings map[string]any
		want     string
	}{
		{"starttls and login", script{tls: own, login: true}, trust, user("starttls", "right"), "sent"},
		{"implicit and login", script{tls: own, login: true, implicit: true}, trust, user("implicit", "right"), "sent"},
		{"wrong password", script{tls: own, login: true}, trust, user("starttls", "wrong"), "elsewhere"},
		{"no password", script{tls: own, login: true}, trust, map[string]any{"tls": "starttls"}, "elsewhere"},
		{"the server has no starttls", script{login: true}, trust, user("starttls", "right"), "elsewhere"},
		{"opportunistic without starttls", script{}, trust, map[string]any{"tls": "opportunistic"}, "sent"},
		{"a certificate no one vouches for", script{tls: own}, strange, map[string]any{"tls": "starttls"}, "elsewhere"},
		{"no password in the clear", script{login: true}, trust, user("none", "right"), "elsewhere"},
	} {
		if _, err := send(t, newProvider(t, serve(t, c.script), c.trust, c.settings), simple); provider.Outcome(err) != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, provider.Outcome(err), err, c.want)
		}
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for raw, part := range map[string]string{
		`{"from":"a@b.c"}`:                                                   "host is missing",
		`{"host":"h","from":"x"}`:                                            "from must be",
		`{"host":"h","from":"a@b.c","tls":"ssl"}`:                            "tls is",
		`{"host":"h","from":"a@b.c","auth":"x"}`:                             "auth is",
		`{"host":"h","from":"a@b.c","user":"u"}`:                             "belong together",
		`{"host":"h","from":"a@b.c","password":"u"}`:                         "unknown field",
		`{"host":"h","from":"a@b.c","user":"u","password_secret":"missing"}`: "missing",
	} {
		_, err := email.New([]byte(raw), provider.Deps{Secrets: provider.Directory{Root: fstest.MapFS{}}})
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
