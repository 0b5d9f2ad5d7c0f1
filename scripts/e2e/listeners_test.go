package e2e

import (
	"context"
	"crypto/tls"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// TestAllListenersOfTheGatewayAreEncryptedWhenTheSettingsSaySo checks that each accepts requests with TLS and refuses
// them without, and that the verb that probes use works.
func TestAllListenersOfTheGatewayAreEncryptedWhenTheSettingsSaySo(t *testing.T) {
	files := tlsfiles.Config(certificates.In(stack.certificates))
	ports := map[string]string{
		"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t),
		"GATEWAY_INTERNAL_TLS": "true", "GATEWAY_ADMIN_TLS": "true",
		"GATEWAY_PUBLIC_TLS_CERT": files.Cert, "GATEWAY_PUBLIC_TLS_KEY": files.Key,
	}
	gateway := startProgram(t, "gateway", "GATEWAY", ports)
	argv := stack.Endpoints.Commands["gateway"]
	await.Nil(t, "the verb healthcheck", func() error {
		check := exec.CommandContext(t.Context(), argv[0], "healthcheck")
		check.Env = gateway.environ
		return check.Run()
	})
	trusted := func() *tls.Config {
		c, err := files.Client()()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: trusted()}}
	defer client.CloseIdleConnections()
	newReport(t, 97031)
	token := "Bearer " + internalToken(t)
	for _, listener := range []struct {
		port, path string
		header     map[string]string
	}{
		{"GATEWAY_PORT", "/api-v3/sample-rerun/97031", map[string]string{"Cookie": "sessionid=" + labSession}},
		{"GATEWAY_INTERNAL_PORT", "/api-v3/sample-rerun/97031?lab_id=12",
			map[string]string{"Authorization": token, "X-Is-Internal-Request": "True"}},
		{"GATEWAY_ADMIN_PORT", "/metrics", nil},
	} {
		address := "://127.0.0.1:" + ports[listener.port] + listener.path
		if code := statusOf(t, client, "https"+address, listener.header); code != http.StatusOK {
			t.Errorf("%s with TLS: %d", listener.port, code)
		}
		if code := statusOf(t, client, "http"+address, listener.header); code == http.StatusOK {
			t.Errorf("%s answers without TLS", listener.port)
		}
	}
}

// statusOf returns the status of a GET request, 0 if there is no response.
func statusOf(t *testing.T, client *http.Client, url string, header map[string]string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
