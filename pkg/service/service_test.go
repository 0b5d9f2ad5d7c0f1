package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// journal records events in their order.
type journal struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) has(line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.lines, line)
}

func (j *journal) loop(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		j.note(name + " runs")
		<-ctx.Done()
		j.note(name + " ends")
		return nil
	}
}

func (j *journal) closer(name string) func(context.Context) error {
	return func(context.Context) error {
		j.note(name + " closed")
		return nil
	}
}

func process(t *testing.T) service.Process {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	admin := httpserver.Config{Host: "127.0.0.1", AdminPort: listener.Addr().(*net.TCPAddr).Port}
	p := service.Process{Name: "test", Version: "v1", Config: service.Config{Admin: admin}}
	p.Config.Telemetry = telemetry.Config{Environment: "dev"}
	p.Config.Lifecycle.StopTimeoutSeconds = 30
	return p
}

func TestStopEndsLoopsBeforeItClosesStores(t *testing.T) {
	t.Parallel()
	var j journal
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(ctx, process(t), io.Discard, func(_ context.Context, s *service.Service) error {
			s.Close("store", j.closer("store"))
			s.Close("client", j.closer("client"))
			s.Loop("first", j.loop("first"))
			s.Loop("second", j.loop("second"))
			s.OnDrain(func() { j.note("drained") })
			return nil
		})
	}()
	await.True(t, "both loops run", func() bool { return j.has("first runs") && j.has("second runs") })
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := []string{"drained", "second ends", "first ends", "client closed", "store closed"}
	if got := j.lines[2:]; !slices.Equal(got, want) {
		t.Fatalf("order of the stop = %q, want %q", got, want)
	}
}

func TestFailedBuildClosesWhatItOpenedAndRunsNothing(t *testing.T) {
	t.Parallel()
	var j journal
	broken := errors.New("broken")
	err := service.Run(t.Context(), process(t), io.Discard, func(_ context.Context, s *service.Service) error {
		s.Close("store", j.closer("store"))
		s.Loop("loop", j.loop("loop"))
		return broken
	})
	if !errors.Is(err, broken) || !slices.Equal(j.lines, []string{"store closed"}) {
		t.Fatalf("Run = %v, events %q; want the build's error and \"store closed\"", err, j.lines)
	}
}

func TestProcessIsReadyOnceItsChecksSucceed(t *testing.T) {
	t.Parallel()
	p := process(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	up := make(chan struct{})
	go func() {
		ended <- service.Run(ctx, p, io.Discard, func(_ context.Context, s *service.Service) error {
			s.Check("store", func(context.Context) error {
				select {
				case <-up:
					return nil
				default:
					return errors.New("unavailable")
				}
			})
			s.Watch("neighbour", func(context.Context) error { return errors.New("unavailable") })
			s.AdminPage("GET /page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
			return nil
		})
	}()
	base := "http://127.0.0.1:" + strconv.Itoa(p.Config.Admin.AdminPort)
	await.True(t, "live and not ready", func() bool { return status(t, base+"/health/ready") == 503 })
	if live, page := status(t, base+"/health/live"), status(t, base+"/page"); live != 200 || page != 200 {
		t.Errorf("status of /health/live = %d, of /page = %d, want 200 for both", live, page)
	}
	shows(t, base, `dependency_up{dependency="store"} 0`, `dependency_up{dependency="neighbour"} 0`, `version="v1"} 1`)
	close(up)
	await.True(t, "ready, whatever the neighbour does", func() bool { return status(t, base+"/health/ready") == 200 })
	shows(t, base, `dependency_up{dependency="store"} 1`, `dependency_up{dependency="neighbour"} 0`)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// shows fails the test if the metrics lack one of the lines.
func shows(t *testing.T, base string, lines ...string) {
	t.Helper()
	response, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(text), line) {
			t.Errorf("the metrics have no %s", line)
		}
	}
}

func TestUnknownSettingsAreLogged(t *testing.T) {
	t.Setenv("PROBE_PROT", "1")
	p := process(t)
	p.Prefix, p.Settings = "PROBE_", &struct {
		Port int `env:"PORT"`
	}{}
	var logs bytes.Buffer
	stopped := errors.New("enough")
	if err := service.Run(t.Context(), p, &logs, func(context.Context, *service.Service) error { return stopped }); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	if !strings.Contains(logs.String(), "PROBE_PROT") {
		t.Fatalf("log = %s, want PROBE_PROT named", logs.String())
	}
}

// status returns the status of a GET of url, or 0 if no server is listening yet.
func status(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

func TestAdminListenerIsEncryptedWithAdminTLS(t *testing.T) {
	t.Parallel()
	ours := certificates.Made(t, "ours")
	p := process(t)
	p.Config.GRPC.TLS = tlsfiles.Config(ours.Member(t, t.TempDir(), time.Now().Add(time.Hour), ours))
	p.Config.Admin.AdminTLS = true
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(ctx, p, io.Discard, func(context.Context, *service.Service) error { return nil })
	}()
	await.Nil(t, "the verb healthcheck", func() error {
		return service.Probe{Host: "127.0.0.1", Series: "go_goroutines", Out: io.Discard}.Run(t.Context(), p.Config.Admin)
	})
	if err := (service.Probe{Host: "127.0.0.1", Series: "nothing", Out: io.Discard}).Run(t.Context(), p.Config.Admin); err == nil {
		t.Error("Run = nil for a missing metric, want an error")
	}
	address := p.Config.Admin.Address() + "/metrics"
	trusted, err := p.Config.GRPC.TLS.Client()()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
	response, err := client.Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if plain := status(t, "http://"+address); response.StatusCode != 200 || plain == 200 {
		t.Errorf("status over TLS = %d, over plain HTTP = %d, want 200 and no success", response.StatusCode, plain)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	p.Config.GRPC.TLS = tlsfiles.Config{}
	if err := p.Config.Validate(); err == nil || !strings.Contains(err.Error(), "ADMIN_TLS") {
		t.Errorf("Validate without a certificate = %v, want an error that names ADMIN_TLS", err)
	}
}

func TestATraceCollectorThatIsAwayDoesNotFailTheStop(t *testing.T) {
	t.Parallel()
	p := process(t)
	p.Config.Telemetry.OTLPEndpoint = "127.0.0.1:1" // nothing listens there
	p.Config.Telemetry.TraceSampleRate = 1
	ctx, stop := context.WithCancel(t.Context())
	err := service.Run(ctx, p, io.Discard, func(_ context.Context, s *service.Service) error {
		_, span := s.Tracers().Tracer("test").Start(ctx, "a span")
		span.End()
		stop()
		return nil
	})
	if err != nil {
		t.Errorf("the process ended with %v, want nil", err)
	}
}
