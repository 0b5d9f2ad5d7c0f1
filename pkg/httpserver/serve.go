package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	shutdownTimeout   = 15 * time.Second
	abortAfter        = shutdownTimeout - 2*time.Second // leaves 2 s for the response
	maxHeaderBytes    = 64 << 10
)

// ErrStopping is the cause of a request's canceled context when the process stops before the request is done. The
// handler has about two seconds left to respond.
var ErrStopping = errors.New("the process is stopping")

type stoppingKey struct{}

// Stopping returns a channel that is closed when the listener of the request of ctx starts to stop; endless responses
// must then end. It is nil for requests that did not come through a Server of this package.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// Server is an HTTP listener.
type Server struct {
	Address string
	Handler http.Handler
	// TLS encrypts the listener; nil means plain HTTP.
	TLS *tls.Config
	// Draining reports whether the process is about to stop; nil means never. While it is true, each response closes its
	// connection, so that a client does not send its next request on a connection that is being closed.
	Draining func() bool
}

// Run listens until ctx ends, then lets running requests finish for up to 15 seconds.
func (s Server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves an open listener like Run, and closes it.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	requests, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	server := &http.Server{
		Handler:           s.closing(guarded(s.Handler)),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(requests, stoppingKey{}, ctx.Done())
		},
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		defer time.AfterFunc(abortAfter, func() { abort(ErrStopping) }).Stop()
		stopped <- server.Shutdown(ctx)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-stopped
}

func (s Server) closing(next http.Handler) http.Handler {
	if s.Draining == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
