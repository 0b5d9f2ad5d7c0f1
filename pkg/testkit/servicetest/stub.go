package servicetest

import (
	"net"
	"testing"

	"google.golang.org/grpc"
)

// Stub starts a server with the services that register adds, which the tested service calls, and returns its address.
func Stub(t testing.TB, register func(grpc.ServiceRegistrar)) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for a stub: %v", err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}
