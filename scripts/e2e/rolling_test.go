package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// perSecond is the number of requests per second and service during a rolling restart.
const perSecond = 30

// secondsAfter is the time in seconds for which the load continues after the last restart.
const secondsAfter = 5

// deployment is a service with two replicas behind one name.
type deployment struct {
	service, prefix    string            // name of its program; prefix of its variables
	address            string            // the gateway's variable with its address
	method, path, body string            // a request that changes nothing
	port               string            // gRPC port of all replicas
	settings           map[string]string // settings of the replicas that start next
	replicas           replicas
	load               *load
	still              *standstills
}

func deployments(t *testing.T) []*deployment {
	t.Helper()
	const report = 97021
	newReport(t, report)
	job := jobOf(t, labSession, "/queue/", `[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"rolling"}}]`)
	get := func(service, prefix, path string) *deployment {
		return &deployment{service: service, prefix: prefix, address: "GATEWAY_" + prefix + "_ADDR", method: "GET", path: path}
	}
	all := []*deployment{
		get("rerun", "RERUN", fmt.Sprintf("/api-v3/sample-rerun/%d", report)),
		get("billsplit", "BILL_SPLIT", "/api-v3/finance/bill/split/9011/family"),
		get("callout", "CALLOUT", "/operation/critical-callout/open"),
		get("cellcounter", "CELL_COUNTER", "/api-v3/cell-counter-mappings/cells"),
		get("externaledit", "EXTERNAL_EDIT", fmt.Sprintf("/api-v3/report/external-edit/%d/revisions", report)),
		get("notifications", "NOTIFICATIONS", "/api-v3/notifications/all"),
		{service: "taskqueue", prefix: "TASKQUEUE", address: "GATEWAY_TASKQUEUE_ADDR", method: "POST", path: "/jobInfo/",
			body: fmt.Sprintf(`{"id":%q}`, job)},
	}
	for _, d := range all {
		d.port = freePort(t)
	}
	return all
}

// TestEveryServiceRestartsOneReplicaAfterTheOtherWithoutLosingARequest upgrades all services at once, as a Deployment
// does. Each has two replicas behind one name; in turn, each replica gets SIGTERM and is replaced by one with another
// address, while requests go through a newly started gateway. No request may be lost.
func TestEveryServiceRestartsOneReplicaAfterTheOtherWithoutLosingARequest(t *testing.T) {
	all := deployments(t)
	ports := map[string]string{"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t)}
	names := startNames(t, all)
	host, port, err := net.SplitHostPort(sessionsApart(t).Addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		d.settings = map[string]string{d.prefix + "_KV_HOST": host, d.prefix + "_KV_PORT": port}
		d.replicas.add(d.start(t), d.start(t))
		ports[d.address] = fmt.Sprintf("dns://%s/%s:%s", names, d.name(), d.port)
	}
	for _, d := range all {
		await.Nil(t, "both replicas of "+d.service, d.replicas.allReady)
	}
	gateway := startProgram(t, "gateway", "GATEWAY", ports)
	base := "http://127.0.0.1:" + gateway.env["GATEWAY_PORT"]
	for _, d := range all {
		await.Nil(t, "the first answer of "+d.service, func() error { return d.ask(t.Context(), base) })
		d.still = watchStores(t, d)
		d.load = keepUp(t, func(ctx context.Context) error { return d.ask(ctx, base) })
	}
	var ended sync.WaitGroup
	for range 2 {
		for _, d := range all {
			d.replicas.add(d.start(t))
		}
		for _, d := range all {
			await.Nil(t, "the new replica of "+d.service, d.replicas.allReady)
		}
		for _, d := range all {
			oldest := d.replicas.remove()
			oldest.terminate()
			ended.Go(func() {
				begun := time.Now()
				if err := oldest.wait(); err != nil && !d.still.covers(failure{begun, time.Now(), err}) {
					t.Errorf("a replica of %s ended with %v", d.service, err)
				}
			})
		}
	}
	ended.Wait()
	goal := all[0].load.asked.Load() + secondsAfter*perSecond
	await.True(t, "the load after the restarts", func() bool { return all[0].load.asked.Load() >= goal })
	for _, d := range all {
		asked, failures := d.load.end()
		lost := slices.DeleteFunc(slices.Clone(failures), d.still.covers)
		excused := len(failures) - len(lost)
		t.Logf("%-14s %d requests during two restarts, %d lost; %d while its stores stood still", d.service, asked, len(lost), excused)
		if len(lost) > 0 || asked-excused < perSecond {
			t.Errorf("%s: of %d requests %d were lost, %d excused: %v", d.service, asked, len(lost), excused, lost[:min(3, len(lost))])
		}
	}
}

// ask returns nil for status 200, and for 429, because such a request was not lost.
func (d *deployment) ask(ctx context.Context, base string) error {
	got, err := send(ctx, base, labSession, d.method, d.path, d.body)
	if err == nil && got.status != http.StatusOK && got.status != http.StatusTooManyRequests {
		err = fmt.Errorf("%d %s", got.status, got.body)
	}
	return err
}

// standstills are times at which the stack's own service, which is not restarted, failed or was slow. The cause is then
// the stores, whose disk other test packages share, so failures at these times do not count.
type standstills struct {
	mu   sync.Mutex // guards list
	list []failure
}

// tooSlow is far more time than any of these requests needs.
const tooSlow = time.Second

// aftermath is the time for which a service may still refuse requests as overload after its stores have recovered.
const aftermath = 5 * time.Second

// watchStores repeats one request to the stack's own service until the test ends, and records failed and slow requests.
func watchStores(t *testing.T, d *deployment) *standstills {
	t.Helper()
	s := &standstills{}
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			begun := time.Now()
			err := d.ask(context.WithoutCancel(ctx), stack.Endpoints.Gateway)
			if err != nil || time.Since(begun) > tooSlow {
				s.mu.Lock()
				s.list = append(s.list, failure{begun, time.Now(), err})
				s.mu.Unlock()
			}
			select {
			case <-time.After(tooSlow / 10):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() { stop(); asking.Wait() })
	return s
}

func (s *standstills) covers(f failure) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(still failure) bool {
		return f.begun.Before(still.ended.Add(aftermath)) && still.begun.Before(f.ended.Add(tooSlow))
	})
}

// sessionsApart starts a Redis for sessions only, as recommended for production, with a copy of the lab user's session.
// The stack's own Redis also holds the queue and writes each command to a disk that other test packages share.
func sessionsApart(t *testing.T) *redistest.Server {
	t.Helper()
	apart := redistest.Start(t, "--appendonly", "no")
	own := stack.Endpoints.Environ["rerun"]
	from := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(own["RERUN_KV_HOST"], own["RERUN_KV_PORT"])})
	t.Cleanup(func() { _ = from.Close() })
	const login = "session:" + labSession
	text, err := from.Dump(t.Context(), login).Result()
	if err == nil {
		err = apart.Client().Restore(t.Context(), login, 0, text).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return apart
}

// name returns the name of the service in the test's name server.
func (d *deployment) name() string { return d.service + ".test" }

// start starts a replica on an address of its own without waiting for it.
func (d *deployment) start(t *testing.T) *program {
	t.Helper()
	settings := map[string]string{d.prefix + "_HOST": d.replicas.address(),
		d.prefix + "_GRPC_PORT": d.port, d.prefix + "_ADMIN_PORT": freePort(t), d.prefix + "_DRAIN_DELAY_SECONDS": "1"}
	if d.service == "externaledit" {
		settings["EXTERNAL_EDIT_FILES_PORT"] = freePort(t)
	}
	maps.Copy(settings, d.settings)
	return startProgram(t, d.service, d.prefix, settings)
}

func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(freeport.One(t))
}

// load sends requests at a steady rate.
type load struct {
	asked atomic.Int32
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu       sync.Mutex
	failures []failure // guarded by mu
}

// failure is a failed request with its times.
type failure struct {
	begun, ended time.Time
	err          error
}

func (f failure) String() string { return fmt.Sprintf("%v after %v", f.err, f.ended.Sub(f.begun)) }

// keepUp calls ask perSecond times a second until end is called.
func keepUp(t *testing.T, ask func(context.Context) error) *load {
	t.Helper()
	l := &load{}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	l.all.Go(func() {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			l.all.Go(func() {
				l.asked.Add(1)
				begun := time.Now()
				if err := ask(context.WithoutCancel(ctx)); err != nil {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.failures = append(l.failures, failure{begun, time.Now(), err})
				}
			})
		}
	})
	return l
}

func (l *load) end() (asked int, failures []failure) {
	l.stop()
	l.all.Wait()
	return int(l.asked.Load()), l.failures
}
