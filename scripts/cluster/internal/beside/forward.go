// Package beside has ways from the pods to this machine's engines, which listen on 127.0.0.1 alone.
package beside

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Forward hands on every connection to the address from to the address to, until ctx ends.
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
		return // the client sees its connection closed, as with an engine that is unavailable
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client) })
	both.Go(func() { pass(client, server) })
	both.Wait()
}

// pass copies one direction; its end is passed on as well.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
