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

// cluster has pods, and a name server that returns the pods behind one name.
type cluster struct {
	mu      sync.Mutex
	pods    map[string]*bufconn.Listener // guarded by mu, by address
	servers map[string]*grpc.Server      // guarded by mu
	names   []netip.Addr                 // guarded by mu
	failure error                        // error of the name server; guarded by mu
	queries int                          // guarded by mu
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

// end removes a pod from the name and stops it gracefully.
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

// forget makes the name server return err, or no address if err is nil.
func (c *cluster) forget(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.failure = nil, err
}

func (c *cluster) lookups() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queries
}

func (c *cluster) lookup(_ context.Context, server, host string) ([]netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries++
	if server != "10.96.0.10" || host != "rerun" {
		return nil, errors.New("unexpected query for " + host + " at " + server)
	}
	return slices.Clone(c.names), c.failure
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

func (c *cluster) connect(t *testing.T) (call func() error, end func()) {
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

// untilSuccess repeats call until it succeeds, for at most five minutes, and returns the elapsed time.
func untilSuccess(call func() error) time.Duration {
	begin := time.Now()
	for call() != nil && time.Since(begin) < 5*time.Minute {
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(begin)
}

func TestReplacedPodIsUsedWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		call, end := pods.connect(t)
		defer end()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		pods.start("10.0.0.2")
		pods.end("10.0.0.1")
		if late := untilSuccess(call); late > 1100*time.Millisecond {
			t.Errorf("new pod used after %v, want at most 1.1s", late)
		}
	})
}

func TestFirstPodIsUsedWithinASecondOfItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t)
		defer pods.endAll()
		call, end := pods.connect(t)
		defer end()
		for range 10 * 60 { // ten minutes: an exponential backoff would have grown long
			if err := call(); status.Code(err) != codes.Unavailable {
				t.Fatalf("error without a pod = %v, want Unavailable", err)
			}
			time.Sleep(time.Second)
		}
		pods.start("10.0.0.1")
		if late := untilSuccess(call); late > 1100*time.Millisecond {
			t.Errorf("pod used after %v, want at most 1.1s", late)
		}
	})
}

func TestAddedPodGetsCallsAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		call, end := pods.connect(t)
		defer end()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		pods.start("10.0.0.2")
		time.Sleep(10*time.Second + time.Millisecond)
		pods.end("10.0.0.1")
		for range 20 {
			if err := call(); err != nil {
				t.Fatalf("call after the first pod ended: %v, want it served by the added pod", err)
			}
		}
	})
}

func TestConnectionsSurviveAFailingOrEmptyNameServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t, "10.0.0.1")
		defer pods.endAll()
		call, end := pods.connect(t)
		defer end()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		for _, failure := range []error{errors.New("no response"), nil} {
			pods.forget(failure)
			for range 60 {
				time.Sleep(time.Second)
				if err := call(); err != nil {
					t.Fatalf("call while the name server returns error %v: %v, want success", failure, err)
				}
			}
		}
	})
}

func TestNameIsLookedUpAtMostOncePerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pods := newCluster(t)
		call, end := pods.connect(t)
		defer end()
		for range 1000 {
			_ = call()
			time.Sleep(10 * time.Millisecond)
		}
		if n := pods.lookups(); n > 11 {
			t.Errorf("look-ups in ten seconds = %d, want at most 11", n)
		}
	})
}
