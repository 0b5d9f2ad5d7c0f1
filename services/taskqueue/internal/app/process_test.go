package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

const serviceSecret = "a-service-token-secret-of-32-bytes!"

// binary builds the service once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "taskqueue-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "taskqueue")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/taskqueue").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a taskqueue process that can be killed and restarted.
type process struct {
	t     testing.TB
	redis *redistest.Server
	env   []string
	grpc  string
	admin string
	cmd   *exec.Cmd
	log   *servicetest.Logs
}

func newProcess(t testing.TB, env ...string) *process {
	t.Helper()
	return newProcessOn(t, redistest.Start(t), env...)
}

func newProcessOn(t testing.TB, server *redistest.Server, env ...string) *process {
	t.Helper()
	p := &process{t: t, redis: server, log: &servicetest.Logs{}}
	host, port, err := net.SplitHostPort(p.redis.Addr)
	if err != nil {
		t.Fatal(err)
	}
	p.grpc, p.admin = freeAddr(t), freeAddr(t)
	p.env = append([]string{"TASKQUEUE_HOST=127.0.0.1", "TASKQUEUE_GRPC_PORT=" + portOf(p.grpc), "TASKQUEUE_ADMIN_PORT=" + portOf(p.admin),
		"TASKQUEUE_REDIS_HOST=" + host, "TASKQUEUE_REDIS_PORT=" + port, "TASKQUEUE_REDIS_CONNECTION_TYPE=standalone",
		"TASKQUEUE_KV_HOST=" + host, "TASKQUEUE_KV_PORT=" + port, "TASKQUEUE_KV_CONNECTION_TYPE=standalone",
		"TASKQUEUE_SERVICE_TOKEN_SECRET=" + serviceSecret, "TASKQUEUE_ALLOWED_HOSTS=127.0.0.1", "TASKQUEUE_DRAIN_DELAY_SECONDS=0",
		"TASKQUEUE_DB_HOST=127.0.0.1", "TASKQUEUE_DB_PORT=" + portOf(freeAddr(t)), // unused port: jobs need no database
		"TASKQUEUE_LOG_JSON=false", "PATH=" + os.Getenv("PATH")}, env...)
	t.Cleanup(p.kill)
	p.start()
	return p
}

func now() time.Time { return clock.System{}.Now() }

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

func freeAddr(t testing.TB) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freeport.One(t)))
}

func (p *process) start() {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(path, "serve")
	p.cmd.Env, p.cmd.Stderr, p.cmd.Stdout = p.env, p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	if p.t.Failed() {
		p.t.Log(p.log.String())
	}
}

func (p *process) get(path string) (int, string) {
	answer, err := http.Get("http://" + p.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

func (p *process) ready() {
	p.t.Helper()
	await.Nil(p.t, "readiness", func() error {
		code, body := p.get("/health/ready")
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
}

// client returns a gRPC client with the identity that the gateway uses for the platform's core.
func (p *process) client() (taskqueuev1.TaskQueueServiceClient, context.Context) {
	p.t.Helper()
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	token, err := authn.NewServiceTokens(config.Secret(serviceSecret), "gateway", clock.System{}).Mint("taskqueue", "core")
	if err != nil {
		p.t.Fatal(err)
	}
	return taskqueuev1.NewTaskQueueServiceClient(conn), metadata.AppendToOutgoingContext(p.t.Context(), "authorization", "Bearer "+token)
}

// receiver stores requests and the time of the last one.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex // guards the fields below
	bodies []string
	heads  []http.Header
	last   time.Time
	hang   bool
	quit   chan struct{} // closed to release requests that hang
	once   sync.Once
}

func (r *receiver) release() { r.once.Do(func() { close(r.quit) }) }

func newReceiver(t *testing.T) *receiver {
	r := &receiver{quit: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.bodies, r.heads, r.last = append(r.bodies, string(body)), append(r.heads, q.Header.Clone()), now()
		hang := r.hang
		r.mu.Unlock()
		if hang {
			select {
			case <-q.Context().Done():
			case <-r.quit:
			}
		}
	}))
	t.Cleanup(func() {
		r.release()
		r.Close()
	})
	return r
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.bodies)
}

func (r *receiver) lastAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *receiver) setHang(hang bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hang = hang
}

func webhookData(url string) *typev1.RawJSON {
	return &typev1.RawJSON{Json: []byte(`{"url":` + strconv.Quote(url) + `,"args":{"b":1, "a":"ü"},"isBody":1}`)}
}

func (p *process) enqueue(url string) string {
	p.t.Helper()
	client, ctx := p.client()
	answer, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 4, TaskType: 2, Data: webhookData(url)}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.GetJobIds()[0]
}

func (p *process) status(id string) string {
	p.t.Helper()
	client, ctx := p.client()
	answer, err := client.JobInfo(ctx, &taskqueuev1.JobInfoRequest{Id: &typev1.RawJSON{Json: []byte(strconv.Quote(id))}})
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.GetJob().GetStatus()
}

func TestAWebhookIsDeliveredByteForByteAndShownInTheOutbox(t *testing.T) {
	t.Parallel()
	p, r := newProcess(t), newReceiver(t)
	p.ready()
	id := p.enqueue(r.URL)
	await.True(t, "delivery", func() bool { return r.count() == 1 })
	if r.bodies[0] != `{"b":1, "a":"ü"}` || r.heads[0].Get("X-Job-Id") != id || r.heads[0].Get("Webhook-Id") != id || r.heads[0].Get("Idempotency-Key") != id {
		t.Errorf("body %q, headers %v", r.bodies[0], r.heads[0])
	}
	await.True(t, "the result", func() bool { return p.status(id) == "finished" })
	await.True(t, "the outbox entry", func() bool {
		code, body := p.get("/outbox/messages?channel=webhook")
		return code == 200 && strings.Contains(body, id)
	})
	if code, body := p.get("/metrics"); code != 200 || !strings.Contains(body, `taskqueue_attempts_total{channel="webhook",outcome="succeeded"} 1`) {
		t.Errorf("metrics: %d", code)
	}
}

func TestAJobOutlivesAKilledProcess(t *testing.T) {
	t.Parallel()
	p, r := newProcess(t), newReceiver(t)
	p.ready()
	client, ctx := p.client()
	at := now().Add(2 * time.Second).Truncate(time.Second)
	answer, err := client.Schedule(ctx, &taskqueuev1.ScheduleRequest{Tasks: []*taskqueuev1.ScheduledTask{
		{SchTime: at.Format("2006-01-02T15:04:05"), Task: 4, TaskType: 2, Data: webhookData(r.URL)}}})
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	if r.count() != 0 {
		t.Fatal("delivered before its time")
	}
	p.start()
	p.ready()
	await.True(t, "delivery after the restart", func() bool { return r.count() == 1 })
	if early := at.Sub(r.lastAt()); early > 0 {
		t.Errorf("delivered %v early", early)
	}
	await.True(t, "the result", func() bool { return p.status(answer.GetJobIds()[0]) == "finished" })
}

func TestAJobWhoseProcessDiedWhileSendingIsSentAgain(t *testing.T) {
	t.Parallel()
	p, r := newProcess(t), newReceiver(t)
	p.ready()
	r.setHang(true)
	id := p.enqueue(r.URL)
	await.True(t, "the first request", func() bool { return r.count() == 1 })
	r.setHang(false)
	p.kill()
	killed := now()
	p.start()
	await.True(t, "the second request", func() bool { return r.count() == 2 })
	t.Logf("sent again %v after the kill", r.lastAt().Sub(killed).Round(time.Millisecond))
	if r.heads[0].Get("Webhook-Id") != r.heads[1].Get("Webhook-Id") {
		t.Error("the id must not change over deliveries")
	}
	p.ready()
	await.True(t, "the result", func() bool { return p.status(id) == "finished" })
}

func TestAServiceOnAnUnfitRedisIsLiveNotReadyAndRefusesTasks(t *testing.T) {
	t.Parallel()
	p, r := newProcess(t), newReceiver(t)
	p.ready()
	admin := p.redis.Client()
	if err := admin.ConfigSet(t.Context(), "appendfsync", "everysec").Err(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the end of readiness", func() bool {
		code, _ := p.get("/health/ready")
		return code == http.StatusServiceUnavailable
	})
	if code, _ := p.get("/health/live"); code != http.StatusOK {
		t.Errorf("liveness is %d", code)
	}
	client, ctx := p.client()
	_, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 4, TaskType: 2, Data: webhookData(r.URL)}}})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("enqueue: %v", err)
	}
	if !strings.Contains(p.log.String(), "appendfsync is everysec") {
		t.Error("the log does not say why")
	}
	if err := admin.ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
		t.Fatal(err)
	}
	p.ready()
	p.enqueue(r.URL)
}

func TestTheServiceOutlivesAKilledRedisAndDeliversWhatItHadAccepted(t *testing.T) {
	t.Parallel()
	p, r := newProcess(t), newReceiver(t)
	p.ready()
	client, ctx := p.client()
	at := now().Add(3 * time.Second).Truncate(time.Second)
	in := &taskqueuev1.ScheduleRequest{}
	for range 50 {
		in.Tasks = append(in.Tasks, &taskqueuev1.ScheduledTask{SchTime: at.Format("2006-01-02T15:04:05"), Task: 4, TaskType: 2, Data: webhookData(r.URL)})
	}
	answer, err := client.Schedule(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	p.redis.Kill()
	if _, err := client.Schedule(ctx, in); status.Code(err) != codes.Unavailable {
		t.Errorf("enqueue without Redis: %v", err)
	}
	p.redis.Restart()
	await.True(t, "delivery of all tasks", func() bool { return r.count() >= 50 })
	for _, id := range answer.GetJobIds() {
		await.True(t, "the result", func() bool { return p.status(id) == "finished" })
	}
	if r.count() != 50 {
		t.Errorf("%d deliveries of 50 tasks", r.count())
	}
}

func TestAFrozenProcessThatWakesUpLateOverwritesNothing(t *testing.T) {
	t.Parallel()
	frozen, r := newProcess(t), newReceiver(t)
	frozen.ready()
	r.setHang(true)
	id := frozen.enqueue(r.URL)
	await.True(t, "the first request", func() bool { return r.count() == 1 })
	r.setHang(false)
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := newProcessOn(t, frozen.redis)
	other.ready()
	await.True(t, "the second request, by the other process", func() bool { return r.count() == 2 })
	await.True(t, "the result", func() bool { return other.status(id) == "finished" })
	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.release()
	await.True(t, "the late result being counted as lost", func() bool {
		_, body := frozen.get("/metrics")
		return strings.Contains(body, `taskqueue_attempts_total{channel="webhook"`) && !strings.Contains(body, `taskqueue_leases_lost_total{channel="webhook"} 0`)
	})
	if got := other.status(id); got != "finished" || r.count() != 2 {
		t.Errorf("status %s after %d deliveries", got, r.count())
	}
}
