package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// perSecond is the load of a rolling restart.
const perSecond = 100

// TestRerunRestartsOneReplicaAfterTheOtherWithoutLosingARequest does what a Deployment does at an upgrade: of two
// replicas behind one address, one after the other gets SIGTERM and is replaced, while a gateway asks all the time.
func TestRerunRestartsOneReplicaAfterTheOtherWithoutLosingARequest(t *testing.T) {
	const id = 97021
	newReport(t, id)
	replicas := &balancer{}
	replicas.set(startReplica(t), startReplica(t))
	gateway := startProgram(t, "gateway", map[string]string{"GATEWAY_RERUN_ADDR": replicas.listen(t), "GATEWAY_PORT": freePort(t),
		"GATEWAY_INTERNAL_PORT": freePort(t), "GATEWAY_ADMIN_PORT": freePort(t)})
	base := "http://127.0.0.1:" + gateway.env["GATEWAY_PORT"]
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	await.Nil(t, "the gateway's first answer", func() error {
		got, err := send(t.Context(), base, labSession, "GET", path, "")
		if err == nil && got.status != http.StatusOK {
			err = errors.New(got.body)
		}
		return err
	})

	end := keepUp(t, base, path)
	for i := range 2 {
		old := replicas.at(i)
		if err := old.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := old.cmd.Wait(); err != nil {
			t.Errorf("replica %d ended with %v", i, err)
		}
		replicas.replace(i, startReplica(t))
	}
	asked, failures := end()
	t.Logf("%d requests during two restarts, %d failures", asked, len(failures))
	if len(failures) > 0 || asked < perSecond {
		t.Errorf("of %d requests %d failed, the first with %s", asked, len(failures), append(failures, "-")[0])
	}
}

// program is a process with the settings of the stack's own, but for its ports.
type program struct {
	cmd *exec.Cmd
	env map[string]string
}

func startReplica(t *testing.T) *program {
	t.Helper()
	p := startProgram(t, "rerun", map[string]string{"RERUN_GRPC_PORT": freePort(t), "RERUN_ADMIN_PORT": freePort(t), "RERUN_DRAIN_DELAY_SECONDS": "1"})
	await.True(t, "a replica is ready", p.ready)
	return p
}

func startProgram(t *testing.T, name string, change map[string]string) *program {
	t.Helper()
	argv := stack.Endpoints.Commands[name]
	p := &program{cmd: exec.Command(argv[0], argv[1:]...), env: change}
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

// ready asks as a kubelet does.
func (p *program) ready() bool {
	response, err := http.Get("http://127.0.0.1:" + p.env["RERUN_ADMIN_PORT"] + "/health/ready")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
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
		replica, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1:"+p.env["RERUN_GRPC_PORT"])
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
func keepUp(t *testing.T, base, path string) (end func() (asked int, failures []string)) {
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
				got, err := send(context.WithoutCancel(ctx), base, labSession, "GET", path, "")
				if err == nil && got.status == http.StatusOK {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, strings.TrimSpace(fmt.Sprint(got.status, " ", got.body, " ", err)))
			})
		}
	})
	return func() (int, []string) {
		stop()
		all.Wait()
		return int(asked.Load()), failures
	}
}
