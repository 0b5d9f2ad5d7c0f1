package servicetest

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// traces receives spans and keeps their bytes, in which texts are unchanged, so that tests can search for a canary.
type traces struct {
	mu   sync.Mutex
	text []byte
}

func (c *traces) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// raw is a codec that keeps messages as bytes. The empty response is an empty message.
type raw struct{}

func (raw) Name() string { return proto.Name }

func (raw) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	to, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot decode into %T", v)
	}
	*to = data.Materialize()
	return nil
}

func (c *traces) serve(t testing.TB) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var spans []byte
			if err := stream.RecvMsg(&spans); err != nil {
				return err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.text = append(c.text, spans...)
			return stream.SendMsg(nil)
		}),
	)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}
