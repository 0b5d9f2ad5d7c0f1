package grpcclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

// cluster has pods, and a name server that knows which of them stand behind the one name.
type cluster struct {
	mu      sync.Mutex
	pods    map[string]*bufconn.Listener // guarded by mu, by address
	servers map[string]*grpc.Server      // guarded by mu
	names   []netip.Addr                 // guarded by mu
	away    error                        // guarded by mu; of the name server
	looked  int                          // guarded by mu
}

func newCluster(t *testing.T, pods ...string) *cluster {
	t.Helper()
	c := &cluster{pods: map[string]*bufconn.Listener{}, servers: map[string]*grpc.Server{}}
	for _, ip := range pods {
		c.start(ip)
	}
	return c
}

func (c *cluster) start(ip string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	listener, server := bufconn.Listen(1<<16), grpc.NewServer()
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	c.pods[ip+":9003"], c.servers[ip+":9003"] = listener, server
	c.names = append(c.names, netip.MustParseAddr(ip))
}

// end takes a pod out of the name, and stops it as a drained process does.
func (c *cluster) end(ip string) {
	c.mu.Lock()
	c.names = slices.DeleteFunc(c.names, func(a netip.Addr) bool { return a == netip.MustParseAddr(ip) })
	server := c.servers[ip+":9003"]
	delete(c.pods, ip+":9003")
	delete(c.servers, ip+":9003")
	c.mu.Unlock()
	server.GracefulStop()
}

func (c *cluster) endAll() {
	for _, server := range c.servers {
		server.Stop()
	}
}

// forget has the name server answer err, or no address.
func (c *cluster) forget(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.away = nil, err
}

func (c *cluster) lookups() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looked
}

func (c *cluster) lookup(_ context.Context, server, host string) ([]netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked++
	if server != "10.96.0.10" || host != "rerun" {
		return nil, errors.New("asked for " + host + " at " + server)
	}
	return slices.Clone(c.names), c.away
}

func (c *cluster) dial(ctx context.Context, address string) (net.Conn, error) {
	c.mu.Lock()
	pod := c.pods[address]
	c.mu.Unlock()
	if pod == nil {
		return nil, errors.New("connection refused")
	}
	return pod.DialContext(ctx)
}

func (c *cluster) connect(t *testing.T) (ask func() error, end func()) {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpcclient.Connect("dns://10.96.0.10/rerun:9003", tel,
		grpc.WithResolvers(grpcclient.Names(c.lookup)), grpc.WithContextDialer(c.dial))
	if err != nil {
		t.Fatal(err)
	}
	client := healthv1.NewHealthClient(conn)
	return func() error {
		_, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
		return err
	}, func() { _ = conn.Close() }
}

// answered asks until there is an answer and returns how long that took.
func answered(ask func() error) time.Duration {
	begin := time.Now()
	for ask() != nil && time.Since(begin) < 5*time.Minute {
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(begin)
}

func TestPodsThatAreReplacedAreFoundWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		ask, end := pods.connect(t)
		defer end()
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		pods.start("10.0.0.2")
		pods.end("10.0.0.1")
		if late := answered(ask); late > 1100*time.Millisecond {
			t.Errorf("the new pod was used after %v", late)
		}
	})
}

func TestAServiceWithoutAPodIsUsedWithinASecondOfItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t)
		defer pods.endAll()
		ask, end := pods.connect(t)
		defer end()
		for range 10 * 60 { // ten minutes, in which others would have learnt to wait long
			if err := ask(); status.Code(err) != codes.Unavailable {
				t.Fatalf("without a pod: %v", err)
			}
			time.Sleep(time.Second)
		}
		pods.start("10.0.0.1")
		if late := answered(ask); late > 1100*time.Millisecond {
			t.Errorf("the pod was used after %v", late)
		}
	})
}

func TestAPodThatIsAddedGetsCallsAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		ask, end := pods.connect(t)
		defer end()
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		pods.start("10.0.0.2")
		time.Sleep(10*time.Second + time.Millisecond)
		pods.end("10.0.0.1")
		for range 20 {
			if err := ask(); err != nil {
				t.Fatalf("the connection to the pod that was added stands already: %v", err)
			}
		}
	})
}

func TestConnectionsStandWhileTheNameServerIsAwayOrKnowsNoPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		ask, end := pods.connect(t)
		defer end()
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		for _, away := range []error{errors.New("no answer"), nil} {
			pods.forget(away)
			for range 60 {
				time.Sleep(time.Second)
				if err := ask(); err != nil {
					t.Fatalf("while the name server says %v: %v", away, err)
				}
			}
		}
	})
}

func TestANameIsAskedForOnceASecondAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t)
		ask, end := pods.connect(t)
		defer end()
		for range 1000 {
			_ = ask()
			time.Sleep(10 * time.Millisecond)
		}
		if n := pods.lookups(); n > 11 {
			t.Errorf("%d look-ups in ten seconds", n)
		}
	})
}
