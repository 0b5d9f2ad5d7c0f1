package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/services"
)

// tlsEnvironment returns the settings for mutual TLS between all services of the stack.
func tlsEnvironment(files certificates.Files) (env []string) {
	for _, s := range services.List() {
		env = append(env, s.Prefix+"_TLS_CA="+files.CA, s.Prefix+"_TLS_CERT="+files.Cert, s.Prefix+"_TLS_KEY="+files.Key)
	}
	return env
}

// TestCertificatesRotateUnderLoad replaces the certificate authority of all services as an operator does: trust both,
// present the new certificates, trust only the new authority. No request may fail meanwhile. Services started
// afterwards, which have read the new files only, must reach services that started with the old ones.
func TestCertificatesRotateUnderLoad(t *testing.T) {
	next, err := certificates.New("next")
	if err != nil {
		t.Fatal(err)
	}
	next.Names = authority.Names
	newReport(t, 97001)
	requests := keepAsking(t, "/api-v3/sample-rerun/97001")
	until := time.Now().AddDate(1, 0, 0)
	steps := []struct {
		name string
		do   func() error
	}{
		{"trust both", func() error { return second(authority.Issue(stack.certificates, until, authority, next)) }},
		{"show the new certificate", func() error { return second(next.Issue(stack.certificates, until, authority, next)) }},
		{"trust the new one alone", func() error { return second(next.Issue(stack.certificates, until, next)) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: got error %v, want none", step.name, err)
		}
		requests.more(t, 50)
	}
	served, failed := requests.stop()
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed while certificates rotated, the first: %v", len(failed), served, failed[0])
	}
	t.Logf("%d requests while certificates rotated, %d failed", served, len(failed))
	if err := stack.Kill("rerun"); err != nil {
		t.Fatal(err)
	}
	restart(t, "rerun")
	await.Nil(t, "an answer through new connections", func() error {
		got, err := send(t.Context(), stack.Endpoints.Gateway, labSession, http.MethodGet, "/api-v3/sample-rerun/97001", "")
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
}

func second[T any](_ T, err error) error { return err }

// asking is a client that sends requests without a pause, and its failures.
type asking struct {
	asked atomic.Int64
	quit  chan struct{}
	done  sync.WaitGroup

	mu     sync.Mutex
	failed []string // guarded by mu
}

func keepAsking(t *testing.T, path string) *asking {
	t.Helper()
	a := &asking{quit: make(chan struct{})}
	base := stack.Endpoints.Gateway
	a.done.Go(func() {
		for {
			select {
			case <-a.quit:
				return
			default:
			}
			got, err := send(t.Context(), base, labSession, http.MethodGet, path, "")
			if err != nil || got.status != http.StatusOK {
				a.mu.Lock()
				a.failed = append(a.failed, fmt.Sprintf("%d %s %v", got.status, got.body, err))
				a.mu.Unlock()
			}
			a.asked.Add(1)
		}
	})
	return a
}

// more waits until n more requests have been sent.
func (a *asking) more(t *testing.T, n int64) {
	t.Helper()
	goal := a.asked.Load() + n
	await.Nil(t, "more answers", func() error {
		if asked := a.asked.Load(); asked < goal {
			return fmt.Errorf("%d of %d", asked, goal)
		}
		return nil
	})
}

func (a *asking) stop() (asked int64, failed []string) {
	close(a.quit)
	a.done.Wait()
	return a.asked.Load(), a.failed
}
