package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

const (
	networkDelay = 10 * time.Millisecond
	// thinkTime is the pause of a client between two requests, in which its connection is idle.
	thinkTime = 30 * time.Millisecond
)

// gateways are replicas of the gateway. A new connection goes to one that is ready, as through a Service.
type gateways struct {
	replicas
	port     string            // port of the listener that clients use
	settings map[string]string // settings of the replicas that start next
	links    sync.Map          // address of the link to a replica, by the replica's address
}

// start starts a replica behind a link that delays each direction by networkDelay.
func (g *gateways) start(t *testing.T) {
	t.Helper()
	host := g.address()
	settings := map[string]string{
		"GATEWAY_HOST": host, "GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t),
		"GATEWAY_ADMIN_PORT": freePort(t), "GATEWAY_DRAIN_DELAY_SECONDS": "1",
	}
	maps.Copy(settings, g.settings)
	g.add(startProgram(t, "gateway", "GATEWAY", settings))
	l := netfault.New(t, net.JoinHostPort(host, g.port))
	l.Slow(networkDelay, 0)
	g.links.Store(host, l.Addr())
}

func (g *gateways) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ready := g.ready()
	if len(ready) == 0 {
		return nil, errors.New("no gateway is ready")
	}
	address, _ := g.links.Load(ready[rand.IntN(len(ready))].String())
	return (&net.Dialer{}).DialContext(ctx, "tcp", address.(string))
}

// TestNoRequestOnAKeptConnectionIsLostWhenGatewaysAreReplaced replaces all gateways twice while clients keep their
// connections, as proxies do, and send requests that no program repeats by itself. None may be lost.
func TestNoRequestOnAKeptConnectionIsLostWhenGatewaysAreReplaced(t *testing.T) {
	const clients, requests = 16, 1000
	job := jobOf(t, labSession, "/queue/",
		`[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"rollout"}}]`)
	port := freePort(t)
	g := &gateways{port: port, settings: map[string]string{"GATEWAY_PORT": port}}
	for range 2 {
		g.start(t)
	}
	await.Nil(t, "two gateways", g.allReady)

	var asked, connections atomic.Int32
	var mu sync.Mutex
	var failures []string
	var all sync.WaitGroup
	over, end := context.WithCancel(t.Context())
	for range clients {
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return g.dial(ctx, network, address)
		}}
		defer transport.CloseIdleConnections()
		all.Go(func() {
			tick := time.NewTicker(thinkTime)
			defer tick.Stop()
			for ; over.Err() == nil; <-tick.C {
				asked.Add(1)
				if err := readJob(t.Context(), transport, job); err != nil {
					mu.Lock()
					failures = append(failures, err.Error())
					mu.Unlock()
				}
			}
		})
	}
	for range 4 {
		g.start(t)
		await.Nil(t, "the new gateway", g.allReady)
		old := g.remove()
		old.terminate()
		if err := old.wait(); err != nil {
			t.Errorf("a gateway ended with %v", err)
		}
	}
	await.True(t, "enough requests", func() bool { return asked.Load() >= requests })
	end()
	all.Wait()
	t.Logf("%d requests over %d connections while four gateways were replaced, %d lost",
		asked.Load(), connections.Load(), len(failures))
	if len(failures) > 0 {
		t.Errorf("%d of %d requests were lost, the first with %s", len(failures), asked.Load(), failures[0])
	}
}

func readJob(ctx context.Context, transport http.RoundTripper, job string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway.test/jobInfo/",
		strings.NewReader(fmt.Sprintf(`{"id":%q}`, job)))
	if err != nil {
		return err
	}
	request.Header.Set("Cookie", "sessionid="+labSession)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK && response.StatusCode != http.StatusTooManyRequests {
		err = fmt.Errorf("%d %s", response.StatusCode, body)
	}
	return err
}
