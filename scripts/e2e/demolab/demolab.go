// Package demolab runs a platform with the demo laboratory and without change capture, for tests that stop and replace
// parts of it. Requests are sent with the session of the laboratory's user.
package demolab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Platform is a running platform of one test.
type Platform struct{ *sandbox.Sandbox }

// Start starts a platform, with additional settings KEY=value, and waits until it is ready. It ends with the test.
func Start(t *testing.T, others ...string) Platform {
	t.Helper()
	p, err := sandbox.Build(t.Context(), append([]string{"LAB_PIPELINE=off"}, others...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Remove)
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return Platform{p}
}

// Services returns the sorted names of the running services.
func (p Platform) Services() []string {
	var names []string
	for name, argv := range p.Endpoints.Commands {
		if slices.Contains(argv, "serve") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var client = &http.Client{Timeout: 20 * time.Second}

// Ask sends a JSON request to the gateway and returns the body of the response. Any status other than 200 is an error.
func (p Platform) Ask(ctx context.Context, method, path, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.Endpoints.Gateway+path, bytes.NewBufferString(body))
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", "sessionid=demo-lab-user")
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return string(text), err
}

// MustAsk calls Ask and fails the test on an error.
func (p Platform) MustAsk(t *testing.T, method, path, body string) string {
	t.Helper()
	answer, err := p.Ask(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Path of the reruns of the report that Rerun sends critical values for.
const rerunPath = "/api-v3/sample-rerun/7001"

// Rerun sends critical values, and returns the reruns of their report once the automatic one is there. That rerun has
// passed the outbox, the task queue and a webhook.
func (p Platform) Rerun(t *testing.T) (reruns string) {
	t.Helper()
	p.MustAsk(t, http.MethodPost, rerunPath+"/auto",
		`{"device_data":[{"index":1,"value":"6.1"},{"index":3,"value":"31.5"},{"index":12,"value":"18"}]}`)
	await.Nil(t, "the automatic rerun", func() (err error) {
		if reruns, err = p.Reruns(t.Context()); err == nil && !strings.Contains(reruns, `"type":"Auto"`) {
			err = fmt.Errorf("there is only %s", reruns)
		}
		return err
	})
	return reruns
}

// Reruns returns the reruns of the report that Rerun uses, as JSON.
func (p Platform) Reruns(ctx context.Context) (string, error) {
	return p.Ask(ctx, http.MethodGet, rerunPath, "")
}
