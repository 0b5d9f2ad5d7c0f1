package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc/resolver"
)

const (
	// lookupEvery is the interval of look-ups, and therefore the time until a new pod gets calls.
	lookupEvery = 10 * time.Second
	// lookupAgain is the pause after a failed look-up, and the shortest pause after a successful one if a connection is
	// lost.
	lookupAgain   = time.Second
	lookupTimeout = 5 * time.Second
)

// Lookup returns the addresses of host. server is the name server to query; empty means the system's.
type Lookup func(ctx context.Context, server, host string) ([]netip.Addr, error)

// Names returns a resolver for gRPC's scheme "dns". gRPC's own resolver queries at most every 30 seconds, and up to two
// minutes after a failure, while all pods behind a name may change within seconds.
func Names(lookup Lookup) resolver.Builder { return names{lookup} }

type names struct{ lookup Lookup }

var _ resolver.Builder = (*names)(nil)

func (names) Scheme() string { return "dns" }

// Build starts resolving target, which is host:port, or dns://SERVER/host:port to use a specific name server.
func (n names) Build(
	target resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions,
) (resolver.Resolver, error) {
	host, port, err := net.SplitHostPort(target.Endpoint())
	if err != nil {
		return nil, fmt.Errorf("a service's address must be host:port: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watcher{
		conn: conn, port: port, stop: stop, wanted: make(chan struct{}, 1), ended: make(chan struct{}),
		lookup: func(ctx context.Context) ([]netip.Addr, error) { return n.lookup(ctx, target.URL.Host, host) },
	}
	if address, err := netip.ParseAddr(host); err == nil {
		close(w.ended)
		return w, w.update([]netip.Addr{address})
	}
	go w.run(ctx)
	return w, nil
}

// watcher updates one connection with the addresses of its name.
type watcher struct {
	conn   resolver.ClientConn
	lookup func(context.Context) ([]netip.Addr, error)
	port   string
	wanted chan struct{}
	stop   context.CancelFunc
	ended  chan struct{}
}

var _ resolver.Resolver = (*watcher)(nil)

// ResolveNow requests a look-up; gRPC calls it when a connection is lost.
func (w *watcher) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case w.wanted <- struct{}{}:
	default: // already requested
	}
}

func (w *watcher) Close() {
	w.stop()
	<-w.ended
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.ended)
	for ctx.Err() == nil {
		err := w.resolve(ctx)
		wait(ctx, lookupAgain, nil)
		if err == nil {
			wait(ctx, lookupEvery-lookupAgain, w.wanted)
		}
	}
}

// resolve passes the current addresses of the name to gRPC. A failed or empty look-up leaves the existing connections
// unchanged, because the pods behind them may still work.
func (w *watcher) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := w.lookup(ctx)
	if err == nil && len(addresses) == 0 {
		err = errors.New("the name has no address")
	}
	if err != nil {
		w.conn.ReportError(fmt.Errorf("look up service: %w", err))
		return err
	}
	return w.update(addresses)
}

func (w *watcher) update(addresses []netip.Addr) error {
	var state resolver.State
	for _, a := range addresses {
		endpoint := []resolver.Address{{Addr: net.JoinHostPort(a.Unmap().String(), w.port)}}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: endpoint})
		state.Addresses = append(state.Addresses, endpoint...)
	}
	return w.conn.UpdateState(state)
}

func wait(ctx context.Context, d time.Duration, wanted <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wanted:
	case <-timer.C:
	}
}

// lookUp queries server, or the system's resolver if server is empty.
func lookUp(ctx context.Context, server, host string) ([]netip.Addr, error) {
	r := net.DefaultResolver
	if server != "" {
		r = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, withPort(server))
		}}
	}
	return r.LookupNetIP(ctx, "ip", host)
}

// withPort returns address with the port of name servers, unless it has a port.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), "53")
}
