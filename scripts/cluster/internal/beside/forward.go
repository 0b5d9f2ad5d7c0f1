// Package beside forwards connections of pods to this machine's engines, which listen on 127.0.0.1 only.
package beside

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Forward forwards every connection to the address from to the address to, until ctx ends.
func Forward(ctx context.Context, from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		connection, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go join(connection, to)
	}
}

func join(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return // the client's connection is closed, as with an unavailable engine
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client) })
	both.Go(func() { pass(client, server) })
	both.Wait()
}

// pass copies one direction and closes it at its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
