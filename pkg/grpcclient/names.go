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
	// lookupEvery is how soon a pod that is added gets calls.
	lookupEvery = 10 * time.Second
	// lookupAgain is how soon a name is looked up again after a failure, or when a connection was lost.
	lookupAgain   = time.Second
	lookupTimeout = 5 * time.Second
)

// Lookup returns the addresses of host. server is the name server to ask, "" for the system's.
type Lookup func(ctx context.Context, server, host string) ([]netip.Addr, error)

// Names returns a resolver for gRPC's scheme "dns". gRPC's own asks at most every half minute, and up to two minutes
// after a failure, while all pods behind a name may change within seconds.
func Names(lookup Lookup) resolver.Builder { return names{lookup} }

type names struct{ lookup Lookup }

var _ resolver.Builder = (*names)(nil)

func (names) Scheme() string { return "dns" }

// Build implements resolver.Builder. target is host:port, or dns://SERVER/host:port to ask a name server of one's own.
func (n names) Build(
	target resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions,
) (resolver.Resolver, error) {
	host, port, err := net.SplitHostPort(target.Endpoint())
	if err != nil {
		return nil, fmt.Errorf("the address of a service is host:port: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watcher{
		conn: conn, port: port, stop: stop, wanted: make(chan struct{}, 1), ended: make(chan struct{}),
		lookup: func(ctx context.Context) ([]netip.Addr, error) { return n.lookup(ctx, target.URL.Host, host) },
	}
	if address, err := netip.ParseAddr(host); err == nil {
		close(w.ended)
		return w, w.tell([]netip.Addr{address})
	}
	go w.run(ctx)
	return w, nil
}

// watcher tells one connection the addresses of its name.
type watcher struct {
	conn   resolver.ClientConn
	lookup func(context.Context) ([]netip.Addr, error)
	port   string
	wanted chan struct{}
	stop   context.CancelFunc
	ended  chan struct{}
}

var _ resolver.Resolver = (*watcher)(nil)

// ResolveNow implements resolver.Resolver: gRPC asks for it when a connection is lost.
func (w *watcher) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case w.wanted <- struct{}{}:
	default: // it is wanted already
	}
}

func (w *watcher) Close() {
	w.stop()
	<-w.ended
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.ended)
	for ctx.Err() == nil {
		err := w.look(ctx)
		wait(ctx, lookupAgain, nil)
		if err == nil {
			wait(ctx, lookupEvery-lookupAgain, w.wanted)
		}
	}
}

// look tells gRPC what the name stands for now. A name that has no address, or cannot be looked up, changes nothing
// about the connections that stand: the pods behind them may still work.
func (w *watcher) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := w.lookup(ctx)
	if err == nil && len(addresses) == 0 {
		err = errors.New("the name has no address")
	}
	if err != nil {
		w.conn.ReportError(fmt.Errorf("look up a service: %w", err))
		return err
	}
	return w.tell(addresses)
}

func (w *watcher) tell(addresses []netip.Addr) error {
	var state resolver.State
	for _, a := range addresses {
		one := []resolver.Address{{Addr: net.JoinHostPort(a.Unmap().String(), w.port)}}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: one})
		state.Addresses = append(state.Addresses, one...)
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

// lookUp asks the system's resolver, or server.
func lookUp(ctx context.Context, server, host string) ([]netip.Addr, error) {
	r := net.DefaultResolver
	if server != "" {
		r = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, withPort(server))
		}}
	}
	return r.LookupNetIP(ctx, "ip", host)
}

// withPort is address with the port of name servers, unless it has one.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), "53")
}
