package grpcclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestServiceIsReconnectedWithinSecondsOfItsReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		listener := bufconn.Listen(1 << 16)
		server := grpc.NewServer()
		healthv1.RegisterHealthServer(server, health.NewServer())
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()

		back := time.Now().Add(time.Minute)
		conn, err := grpcclient.Connect("passthrough:service", tel, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if time.Now().Before(back) {
				return nil, errors.New("connection refused")
			}
			return listener.DialContext(ctx)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := healthv1.NewHealthClient(conn)
		if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
			t.Fatalf("error while unavailable = %v, want Unavailable", err)
		}
		time.Sleep(time.Minute)
		if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(back); late > 2500*time.Millisecond {
			t.Errorf("reconnected %v after its return, want at most 2.5s", late)
		}
	})
}

// quietConn records the longest time between two writes.
type quietConn struct {
	net.Conn
	last, longest *atomic.Int64 // in nanoseconds: time of the last write, longest pause
}

func (c quietConn) Write(b []byte) (int, error) {
	now := time.Now().UnixNano()
	if pause := now - c.last.Swap(now); pause > c.longest.Load() {
		c.longest.Store(pause)
	}
	return c.Conn.Write(b)
}

// Pings must keep an idle connection open: a firewall would close it, and a call sent at that moment would fail.
func TestAnIdleConnectionIsKeptBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		listener := bufconn.Listen(1 << 16)
		server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(
			keepalive.EnforcementPolicy{MinTime: 15 * time.Second, PermitWithoutStream: true}))
		healthv1.RegisterHealthServer(server, health.NewServer())
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()

		var dials, last, longest atomic.Int64
		last.Store(time.Now().UnixNano())
		conn, err := grpcclient.Connect("passthrough:service", tel, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			dials.Add(1)
			c, err := listener.DialContext(ctx)
			return quietConn{c, &last, &longest}, err
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := healthv1.NewHealthClient(conn)
		for range 3 {
			if _, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
		}
		if pause := time.Duration(longest.Load()); dials.Load() != 1 || pause > 25*time.Second {
			t.Errorf("%d connections, the longest without traffic for %v; want one, and less than 30s", dials.Load(), pause)
		}
	})
}
