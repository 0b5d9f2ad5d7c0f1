package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// TestTheSecretOfServicesIsRotatedUnderLoadWithoutARefusedCall follows docs/operations.md: all replicas are replaced
// three times, one by one, while a service calls another through the internal listener. No call may be refused.
func TestTheSecretOfServicesIsRotatedUnderLoadWithoutARefusedCall(t *testing.T) {
	const report = 97041
	newReport(t, report)
	older, newer := stack.Endpoints.Environ["rerun"]["RERUN_SERVICE_TOKEN_SECRET"], strings.Repeat("n", 40)
	reruns := &deployment{service: "rerun", prefix: "RERUN", port: freePort(t)}
	for range 2 {
		reruns.replicas.add(reruns.start(t))
	}
	port := freePort(t)
	g := &gateways{port: port, settings: map[string]string{"GATEWAY_INTERNAL_PORT": port,
		"GATEWAY_RERUN_ADDR": fmt.Sprintf("dns://%s/%s:%s", startNames(t, []*deployment{reruns}), reruns.name(), reruns.port)}}
	for range 2 {
		g.start(t)
	}
	ready := func() error { return errors.Join(g.allReady(), reruns.replicas.allReady()) }
	await.Nil(t, "two replicas of each", ready)

	var secret atomic.Pointer[string] // secret of the calling service
	secret.Store(&older)
	ask := func(ctx context.Context, transport http.RoundTripper) error {
		token, err := authn.NewServiceTokens(config.Secret(*secret.Load()), "core", clock.System{}).Mint("gateway", "")
		if err != nil {
			return err
		}
		return askInternally(ctx, transport, fmt.Sprintf("/api-v3/sample-rerun/%d?lab_id=12", report), token)
	}
	transport := &http.Transport{DialContext: g.dial}
	defer transport.CloseIdleConnections()
	calls := keepUp(t, func(ctx context.Context) error { return ask(ctx, transport) })
	var ended sync.WaitGroup
	for _, step := range []string{older + "," + newer, newer + "," + older, newer} {
		g.settings["GATEWAY_SERVICE_TOKEN_SECRET"] = step
		reruns.settings = map[string]string{"RERUN_SERVICE_TOKEN_SECRET": step}
		for range 2 {
			g.start(t)
			reruns.replicas.add(reruns.start(t))
			await.Nil(t, "the new replicas", ready)
			for _, old := range []*program{g.remove(), reruns.replicas.remove()} {
				old.terminate()
				ended.Go(func() { _ = old.wait() })
			}
		}
		ended.Wait()
		secret.Store(&step) // the calling service is replaced after the others
	}
	asked, failures := calls.end()
	t.Logf("%d calls while the secret was rotated, %d refused", asked, len(failures))
	if len(failures) > 0 || asked < 3*perSecond {
		t.Errorf("of %d calls %d failed: %v", asked, len(failures), failures[:min(3, len(failures))])
	}
	secret.Store(&older)
	if err := ask(t.Context(), transport); err == nil {
		t.Error("the old secret still counts after the rotation")
	}
}

func askInternally(ctx context.Context, transport http.RoundTripper, path, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gateway.test"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("X-Is-Internal-Request", "True")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", response.StatusCode, body)
	}
	return err
}
