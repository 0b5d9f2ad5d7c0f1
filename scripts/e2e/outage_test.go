package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// TestAnOutageIsSeenBeforeARequestMeetsIt disconnects a service from each of its stores, and the gateway from the
// service, while no requests are sent. The metrics of the alerts must show the outage and its end, and the gateway must
// stay ready.
func TestAnOutageIsSeenBeforeARequestMeetsIt(t *testing.T) {
	t.Parallel()
	l := startLinked(t)
	for _, o := range []struct {
		link, process, dependency string
		begin                     func(*netfault.Link)
	}{
		{"MySQL", "rerun", "database", (*netfault.Link).Silence},
		{"Redis", "rerun", "cache", (*netfault.Link).Cut},
		{"document store", "rerun", "document_store", (*netfault.Link).Cut},
		{"gRPC", "gateway", "rerun", (*netfault.Link).Cut},
	} {
		l.awaitDependency(t, o.process, o.dependency, 1)
		o.begin(l.links[o.link])
		l.awaitDependency(t, o.process, o.dependency, 0)
		if got := callAt(t, l.admin["gateway"], "", http.MethodGet, "/health/ready", ""); got.status != http.StatusOK {
			t.Errorf("without %s the gateway's readiness is %d %s, want 200", o.link, got.status, got.body)
		}
		l.links[o.link].Restore()
		l.awaitDependency(t, o.process, o.dependency, 1)
	}
}

// awaitDependency waits until the metrics of a process show a dependency as up (1) or down (0).
func (l linked) awaitDependency(t *testing.T, process, dependency string, up int) {
	t.Helper()
	line := fmt.Sprintf("dependency_up{dependency=%q} %d\n", dependency, up)
	await.True(t, line, func() bool {
		return strings.Contains(callAt(t, l.admin[process], "", http.MethodGet, "/metrics", "").body, line)
	})
}
