package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
)

// perSecond is the load of a rolling restart, for each service.
const perSecond = 30

// deployment is a service with two replicas behind one address.
type deployment struct {
	service, prefix    string // of its program and of its variables
	address            string // the gateway's variable for it
	method, path, body string // of a request that changes nothing
	replicas           balancer
	endLoad            func() (asked int, failures []string)
}

func deployments(t *testing.T) []*deployment {
	t.Helper()
	const report = 97021
	newReport(t, report)
	job := jobOf(t, labSession, "/queue/", `[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"rolling"}}]`)
	get := func(service, prefix, path string) *deployment {
		return &deployment{service: service, prefix: prefix, address: "GATEWAY_" + prefix + "_ADDR", method: "GET", path: path}
	}
	return []*deployment{
		get("rerun", "RERUN", fmt.Sprintf("/api-v3/sample-rerun/%d", report)),
		get("billsplit", "BILL_SPLIT", "/api-v3/finance/bill/split/9011/family"),
		get("callout", "CALLOUT", "/operation/critical-callout/open"),
		get("cellcounter", "CELL_COUNTER", "/api-v3/cell-counter-mappings/cells"),
		get("externaledit", "EXTERNAL_EDIT", fmt.Sprintf("/api-v3/report/external-edit/%d/revisions", report)),
		get("notifications", "NOTIFICATIONS", "/api-v3/notifications/all"),
		{service: "taskqueue", prefix: "TASKQUEUE", address: "GATEWAY_TASKQUEUE_ADDR", method: "POST", path: "/jobInfo/",
			body: fmt.Sprintf(`{"id":%q}`, job)},
	}
}

// TestEveryServiceRestartsOneReplicaAfterTheOtherWithoutLosingARequest does to all services at once what a Deployment
// does at an upgrade: of two replicas behind one address, one after the other gets SIGTERM and is replaced, while a
// gateway asks all the time.
func TestEveryServiceRestartsOneReplicaAfterTheOtherWithoutLosingARequest(t *testing.T) {
	all := deployments(t)
	ports := map[string]string{"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t)}
	for _, d := range all {
		d.replicas.set(d.start(t), d.start(t))
		ports[d.address] = d.replicas.listen(t)
	}
	gateway := startProgram(t, "gateway", "GATEWAY", ports)
	base := "http://127.0.0.1:" + gateway.env["GATEWAY_PORT"]
	for _, d := range all {
		await.Nil(t, "the first answer of "+d.service, func() error { return d.ask(t.Context(), base) })
		d.endLoad = keepUp(t, func(ctx context.Context) error { return d.ask(ctx, base) })
	}
	for i := range 2 {
		for _, d := range all {
			if err := d.replicas.at(i).cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range all {
			if err := d.replicas.at(i).cmd.Wait(); err != nil {
				t.Errorf("%s: replica %d ended with %v", d.service, i, err)
			}
			d.replicas.replace(i, d.start(t))
		}
		for _, d := range all {
			await.True(t, "the new replica of "+d.service, d.replicas.at(i).ready)
		}
	}
	for _, d := range all {
		asked, failures := d.endLoad()
		t.Logf("%-14s %d requests during two restarts, %d failures", d.service, asked, len(failures))
		if len(failures) > 0 || asked < perSecond {
			t.Errorf("%s: of %d requests %d failed, the first with %s", d.service, asked, len(failures), append(failures, "-")[0])
		}
	}
}

// ask returns nil for an answer 200, and for one that the service gives a user who asks too often: it was not lost.
func (d *deployment) ask(ctx context.Context, base string) error {
	got, err := send(ctx, base, labSession, d.method, d.path, d.body)
	if err == nil && got.status != http.StatusOK && got.status != http.StatusTooManyRequests {
		err = fmt.Errorf("%d %s", got.status, got.body)
	}
	return err
}

// start starts a replica and does not wait for it.
func (d *deployment) start(t *testing.T) *program {
	t.Helper()
	return startProgram(t, d.service, d.prefix, map[string]string{d.prefix + "_GRPC_PORT": freePort(t),
		d.prefix + "_ADMIN_PORT": freePort(t), d.prefix + "_DRAIN_DELAY_SECONDS": "1"})
}

// program is a process with the settings of the stack's own, but for its ports.
type program struct {
	prefix string
	cmd    *exec.Cmd
	env    map[string]string
}

func startProgram(t *testing.T, name, prefix string, change map[string]string) *program {
	t.Helper()
	argv := stack.Endpoints.Commands[name]
	p := &program{prefix: prefix, cmd: exec.Command(argv[0], argv[1:]...), env: change}
	for key, value := range stack.Endpoints.Environ[name] {
		if _, changed := change[key]; !changed {
			p.cmd.Env = append(p.cmd.Env, key+"="+value)
		}
	}
	for key, value := range change {
		p.cmd.Env = append(p.cmd.Env, key+"="+value)
	}
	log, err := os.Create(filepath.Join(stack.Dir, "logs", name+"-"+freePort(t)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		_ = p.cmd.Wait()
		_ = log.Close()
	})
	return p
}

// probes are no requests of the API.
var probes = &http.Client{Timeout: time.Second}

// ready asks as a kubelet does.
func (p *program) ready() bool {
	response, err := probes.Get("http://127.0.0.1:" + p.env[p.prefix+"_ADMIN_PORT"] + "/health/ready")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(servicetest.FreePort(t))
}

// balancer gives new connections to a replica that is ready, as a Service does.
type balancer struct {
	mu       sync.Mutex
	replicas []*program // guarded by mu
}

func (b *balancer) set(replicas ...*program) { b.replicas = replicas }

func (b *balancer) at(i int) *program {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replicas[i]
}

func (b *balancer) replace(i int, p *program) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas[i] = p
}

func (b *balancer) all() []*program {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.replicas)
}

func (b *balancer) listen(t *testing.T) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.forward(conn)
		}
	}()
	return listener.Addr().String()
}

func (b *balancer) forward(conn net.Conn) {
	defer conn.Close()
	for _, p := range b.all() {
		if !p.ready() {
			continue
		}
		replica, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1:"+p.env[p.prefix+"_GRPC_PORT"])
		if err != nil {
			continue
		}
		defer replica.Close()
		go func() { _, _ = io.Copy(replica, conn) }() // ends with either connection
		_, _ = io.Copy(conn, replica)
		return
	}
}

// keepUp asks at the rate of the load until end is called.
func keepUp(t *testing.T, ask func(context.Context) error) (end func() (asked int, failures []string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int32
	var mu sync.Mutex
	var failures []string // guarded by mu
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			all.Go(func() {
				asked.Add(1)
				if err := ask(context.WithoutCancel(ctx)); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, err.Error())
				}
			})
		}
	})
	return func() (int, []string) {
		stop()
		all.Wait()
		return int(asked.Load()), failures
	}
}
