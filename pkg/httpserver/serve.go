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
	cutOffAfter       = shutdownTimeout - 2*time.Second // the rest is for the answer
	maxHeaderBytes    = 64 << 10
)

// ErrStopping is the cause of the end of a request's context when the process stops before the request is done: there
// is just time to say so.
var ErrStopping = errors.New("the process stops")

type stoppingKey struct{}

// Stopping is closed when the listener of the request of ctx stops: answers without an end should end. It is nil
// for requests that came through no listener of ours.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// Server is a listener for HTTP.
type Server struct {
	Address string
	Handler http.Handler
	// TLS encrypts it; nil: it is plain.
	TLS *tls.Config
	// Draining says that the process is about to stop; nil: it never does. Each answer then ends its connection: a client
	// that kept it would send its next request at the moment when it is closed.
	Draining func() bool
}

// Run listens until ctx ends, then lets the requests in flight finish.
func (s Server) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve is Run on a listener that is open already; it closes it.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	requests, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(nil)
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
		defer time.AfterFunc(cutOffAfter, func() { cutOff(ErrStopping) }).Stop()
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
