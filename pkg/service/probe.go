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

// Probe is the verb healthcheck: of the service on this machine, or of another one after an install, for `helm test`.
type Probe struct {
	Host   string // of the service; 127.0.0.1: this machine
	GRPC   int    // port that answers a request; 0: none is sent
	Get    string // address that answers a request; "": none is sent
	Series string // beginning of a name that must be among the metrics; "": they are not read
	Out    io.Writer
}

// probe returns the verb.
func (b Binary[Settings]) probe() cli.Verb {
	p := Probe{Out: os.Stdout}
	return cli.Verb{
		Name: "healthcheck", Summary: "Exit 0 when the service is ready, and answers as the options ask.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&p.Host, "host", thisMachine, "where the service is")
			f.IntVar(&p.GRPC, "grpc", 0, "port of gRPC that has to answer a request")
			f.StringVar(&p.Get, "get", "", "address that has to answer a request with 200")
			f.StringVar(&p.Series, "series", "", "beginning of a name that has to be among the metrics")
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
	askAgain    = 500 * time.Millisecond
)

// Run asks what the fields say of the service with this administration listener, and returns the first thing that is
// wrong. Another machine is asked again for ten seconds: just after an install the name of a Service may lead nowhere.
func (p Probe) Run(ctx context.Context, admin httpserver.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := p.ask(ctx, admin)
		if err == nil || p.Host == thisMachine || lifecycle.Pause(ctx, askAgain) != nil {
			return err
		}
	}
}

func (p Probe) ask(ctx context.Context, admin httpserver.Config) error {
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

// rounds of requests reach every replica behind one name, also one that takes turns: each has one request more.
const rounds = 6

// measured wants the series among the metrics. Behind the name are several replicas, and one that has not answered a
// request yet has none to count: so the request is sent again as well.
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

// expect wants an answer 200, with a line that begins so.
func (p Probe) expect(ctx context.Context, url, beginning string) error {
	response, err := get(ctx, url)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	for beginning != "" && !strings.HasPrefix(lines.Text(), beginning) {
		if !lines.Scan() {
			return fmt.Errorf("%s has no line that begins with %s", url, beginning)
		}
	}
	fmt.Fprintln(p.Out, "answers:", url, beginning)
	return nil
}

// get asks whether someone answers. The certificate is not verified: it is for the service's name, and nothing that is
// read here is trusted or passed on.
func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return (&http.Client{Transport: transport}).Do(request)
}

// serves sends a request of gRPC's own health service.
func (p Probe) serves(ctx context.Context, address string) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("gRPC of %s: %w", address, err)
	}
	defer conn.Close()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("gRPC of %s: %w", address, err)
	}
	if answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("gRPC of %s is %v", address, answer.GetStatus())
	}
	fmt.Fprintln(p.Out, "serves: gRPC of", address)
	return nil
}
