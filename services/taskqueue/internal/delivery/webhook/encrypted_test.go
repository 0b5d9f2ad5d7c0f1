package webhook_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

func TestAJobThatWaitedWhileThePlatformsAddressWasEncryptedReachesIt(t *testing.T) {
	t.Parallel()
	ours := certificates.Made(t, "ours")
	files := tlsfiles.Config(ours.Member(t, t.TempDir(), time.Now().Add(time.Hour), ours))
	b := &fixture{t: t}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, received{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone()})
	}))
	b.Listener = tls.NewListener(b.Listener, files.Certificate().Server())
	b.Start()
	t.Cleanup(b.Close)
	origin := strings.Replace(b.URL, "http:", "https:", 1)
	targets, err := webhook.NewTargets([]string{origin}, netguard.Config{}, netguard.Config{TLS: files.Client()})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	b.sender = webhook.New(webhook.Config{Targets: targets, Webhooks: signer, Callbacks: signer, Tokens: tokens{}, Recorder: b,
		Clock: clock.Fixed(time.Unix(1_790_000_000, 0)), HostConcurrency: 4,
		Circuits: circuit.New(workertest.NewQueue())})
	for _, url := range []string{origin, b.URL} {
		data := map[string]any{"url": url + "/report/400/critical/evaluate"}
		if _, err := b.send(task.WebhookPost, data, nil); !job.AsFailure(err).Permanent {
			t.Errorf("%s by a user: %v", url, err)
		}
		if _, err := b.send(task.WebhookPost, data, func(j *job.Body) { j.Internal, j.Caller = true, "service:callout" }); err != nil {
			t.Errorf("%s by a service: %v", url, err)
		}
	}
	if n := len(b.requests()); n != 2 || b.requests()[n-1].Header.Get("Authorization") != "Bearer gateway/callout" {
		t.Errorf("%d requests arrived", n)
	}
}
