package service

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Probe is the verb healthcheck. It checks the service on this machine, or, for `helm test` after an install, one on
// another host.
type Probe struct {
	Host   string // host of the service; 127.0.0.1 for this machine
	GRPC   int    // port of a gRPC server that must be serving; 0: not checked
	Get    string // URL that must respond with 200; empty: not checked
	Series string // prefix of the name of a metric that must exist; empty: not checked
	Out    io.Writer
}

// probe returns the verb healthcheck.
func (b Binary[Settings]) probe() cli.Verb {
	p := Probe{Out: os.Stdout}
	return cli.Verb{
		Name: "healthcheck", Summary: "Exit 0 when the service is ready and the given checks succeed.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&p.Host, "host", thisMachine, "`host` of the service")
			f.IntVar(&p.GRPC, "grpc", 0, "`port` of a gRPC server that must be serving")
			f.StringVar(&p.Get, "get", "", "`URL` that must respond with 200")
			f.StringVar(&p.Series, "series", "", "`prefix` of the name of a metric that must exist")
		},
		Run: func(ctx context.Context, _ []string) error {
			cfg, err := b.Load(os.Environ())
			if err != nil {
				return err
			}
			return p.Run(ctx, b.Admin(cfg))
		},
	}
}

const (
	thisMachine = "127.0.0.1"
	retryPause  = 500 * time.Millisecond
)

// Run executes the checks of p on the service with this administration listener and returns the first failure. For
// another machine it retries for ten seconds, because a Service name may not resolve just after an install.
func (p Probe) Run(ctx context.Context, admin httpserver.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := p.check(ctx, admin)
		if err == nil || p.Host == thisMachine || lifecycle.Pause(ctx, retryPause) != nil {
			return err
		}
	}
}

func (p Probe) check(ctx context.Context, admin httpserver.Config) error {
	if err := p.expect(ctx, admin.URL(p.Host)+"/health/ready", ""); err != nil {
		return err
	}
	if p.Get != "" {
		if err := p.expect(ctx, p.Get, ""); err != nil {
			return err
		}
	}
	if p.GRPC != 0 {
		if err := p.serves(ctx, net.JoinHostPort(p.Host, strconv.Itoa(p.GRPC))); err != nil {
			return err
		}
	}
	if p.Series == "" {
		return nil
	}
	return p.measured(ctx, admin.URL(p.Host)+"/metrics")
}

// rounds is the number of rounds of requests in measured, each with one request more than the last. They reach every
// replica behind one name, even with round-robin balancing.
const rounds = 6

// measured checks that the series exists. Several replicas may share the name, and a replica has no series before its
// first request; measured therefore repeats the request to Get, too.
func (p Probe) measured(ctx context.Context, url string) error {
	err := p.expect(ctx, url, p.Series)
	for round := 1; err != nil && p.Get != "" && round <= rounds; round++ {
		for range round {
			if err := p.expect(ctx, p.Get, ""); err != nil {
				return err
			}
		}
		err = p.expect(ctx, url, p.Series)
	}
	return err
}

// expect checks that url responds with 200 and, if prefix is not empty, with a line that starts with it.
func (p Probe) expect(ctx context.Context, url, prefix string) error {
	response, err := get(ctx, url)
	if err != nil {
		return fmt.Errorf("no response from %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds with status %d, want 200", url, response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	for prefix != "" && !strings.HasPrefix(lines.Text(), prefix) {
		if !lines.Scan() {
			return fmt.Errorf("%s has no line that starts with %s", url, prefix)
		}
	}
	fmt.Fprintln(p.Out, "ok:", url, prefix)
	return nil
}

// get sends a GET. It does not verify the certificate, which is for the service's name: the response is only checked,
// never trusted or passed on.
func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return (&http.Client{Transport: transport}).Do(request)
}

// serves checks gRPC's health service.
func (p Probe) serves(ctx context.Context, address string) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("gRPC of %s: %w", address, err)
	}
	defer conn.Close()
	response, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("gRPC of %s: %w", address, err)
	}
	if response.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("gRPC of %s is %v, want SERVING", address, response.GetStatus())
	}
	fmt.Fprintln(p.Out, "ok: gRPC of", address)
	return nil
}
