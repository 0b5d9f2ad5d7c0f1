package app_test

import (
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app"
)

// wire forwards connections to the database, or closes them to simulate an outage.
type wire struct {
	net.Listener
	target string
	mu     sync.Mutex // guards the fields below
	whole  bool
	open   map[net.Conn]struct{}
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, target: target, open: map[net.Conn]struct{}{}}
	t.Cleanup(func() { w.set(false); _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.forward(client)
		}
	}()
	return w
}

func (w *wire) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	w.mu.Lock()
	if !w.whole {
		w.mu.Unlock()
		return
	}
	w.open[client], w.open[server] = struct{}{}, struct{}{}
	w.mu.Unlock()
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
}

func (w *wire) set(whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = whole
	if whole {
		return
	}
	for c := range w.open {
		_ = c.Close()
		delete(w.open, c)
	}
}

// database returns a migrated database behind a wire, and the settings of a process that uses it.
func database(t *testing.T) (*sql.DB, *wire, []string) {
	t.Helper()
	db, dsn := mysqltest.Open(t)
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, c.Addr)
	env := []string{"TASKQUEUE_DB_HOST=127.0.0.1", "TASKQUEUE_DB_PORT=" + portOf(w.Addr().String()), "TASKQUEUE_DB_USER=" + c.User,
		"TASKQUEUE_DB_PASSWORD=" + c.Passwd, "TASKQUEUE_DB_DATABASE=" + c.DBName,
		"TASKQUEUE_SERVICE_TOKEN_SECRET=" + serviceSecret}
	cfg, err := app.Load(env)
	if err != nil {
		t.Fatal(err)
	}
	w.set(true)
	for range 2 { // migrating is idempotent
		if err := app.Migrate(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	return db, w, env
}

func rows(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheQueueWorksWithoutItsDatabaseAndCatchesUp(t *testing.T) {
	t.Parallel()
	db, w, env := database(t)
	w.set(false)
	p, r := newProcess(t, env...), newReceiver(t)
	p.ready()
	client, ctx := p.client()
	var ids []string
	for range 3 {
		ids = append(ids, p.enqueue(r.URL))
	}
	await.True(t, "deliveries", func() bool { return r.count() == 3 })
	mapping, err := client.Mapping(ctx, &taskqueuev1.MappingRequest{Mappings: []*taskqueuev1.DictionaryMapping{{Keyword: "hb", Data: &typev1.RawJSON{Json: []byte(`{"v":1}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	kind, key := "opt_in", "k"
	consent := func() error {
		_, err := client.UpdateConsent(ctx, &taskqueuev1.UpdateConsentRequest{Type: &kind, CacheKey: &key})
		return err
	}
	if err := consent(); status.Code(err) != codes.Unavailable {
		t.Errorf("a consent without the database: %v", err)
	}
	await.True(t, "the gauge", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, "taskqueue_database_up 0") && strings.Contains(body, `outcome="postponed"`)
	})
	if code, _ := p.get("/health/ready"); code != http.StatusOK {
		t.Errorf("readiness is %d: the queue serves", code)
	}
	w.set(true)
	await.True(t, "the archive", func() bool {
		return rows(t, db, "SELECT COUNT(*) FROM tq_archive WHERE status = 'finished' AND task = 4") == 3
	})
	await.True(t, "the mapping", func() bool { return rows(t, db, "SELECT COUNT(*) FROM dictionary_mapping") == 1 })
	await.True(t, "its result", func() bool { return p.status(mapping.GetJobIds()[0]) == "finished" })
	if err := consent(); err != nil {
		t.Errorf("a consent with the database: %v", err)
	}
	p.forget()
	if got := p.status(ids[0]); got != "finished" {
		t.Errorf("a job that Redis forgot is %q", got)
	}
	if text, err := p.verb("jobs", nil, ids[0]); err != nil || !strings.Contains(text, "finished") {
		t.Errorf("the verb does not ask the archive: %v\n%s", err, text)
	}
}

// forget deletes the results in Redis, as their expiry does.
func (p *process) forget() {
	p.t.Helper()
	client := p.redis.Client()
	if err := client.Del(p.t.Context(), keys(p.t, client, "r:*")...).Err(); err != nil {
		p.t.Fatal(err)
	}
}

func TestKillsOfArchivingProcessesLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	db, _, env := database(t)
	r := newTally(t, 0)
	p := newProcess(t, append(env, "TASKQUEUE_OUTBOX_ENABLED=false")...)
	p.ready()
	const jobs = 3000
	ids := p.enqueueMany(r, jobs) // each job has a callback, which is archived too
	for _, step := range []int{1, 1500, 3000} {
		await.True(t, "archived jobs", func() bool { return rows(t, db, "SELECT COUNT(*) FROM tq_archive") >= step })
		p.kill()
		p.start()
	}
	await.True(t, "all deliveries and callbacks", func() bool { sent, told := r.distinct(); return sent == jobs && told == jobs })
	p.awaitIdle()
	await.True(t, "the whole archive", func() bool { return rows(t, db, "SELECT COUNT(*) FROM tq_archive") == 2*jobs })
	await.True(t, "the last ends taken off the list", func() bool { return len(keys(t, p.redis.Client(), "ar")) == 0 })
	in := make([]string, len(ids))
	args := make([]any, len(ids))
	for i, id := range ids {
		in[i], args[i] = "?", id
	}
	if n := rows(t, db, "SELECT COUNT(*) FROM tq_archive WHERE status = 'finished' AND job_id IN ("+strings.Join(in, ",")+")", args...); n != jobs {
		t.Errorf("%d of %d jobs are archived as finished", n, jobs)
	}
	p.fsck()
}

func TestRowsOfProvidersAreTakenWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	db, _, env := database(t)
	p := newProcess(t, append(env, "TASKQUEUE_OUTBOX_ENABLED=false")...)
	p.ready()
	client, ctx := p.client()
	sms := &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: 1, TaskType: 3, Data: &typev1.RawJSON{Json: []byte(`{"contact":9812345678,"countryCode":91,"message":"Hello"}`)}}}}
	if _, err := client.Enqueue(ctx, sms); status.Code(err) != codes.Unavailable {
		t.Fatalf("no provider: %v", err)
	}
	r := newReceiver(t)
	settings := `{"kind":"http","url":` + strconv.Quote(r.URL) + `,"method":"POST","body":"{\"to\":\"{{.To}}\"}","success":{"statuses":[200]}}`
	if _, err := db.ExecContext(ctx, "INSERT INTO tq_provider (channel, provider, settings) VALUES ('sms', 'india', ?)", settings); err != nil {
		t.Fatal(err)
	}
	await.Nil(t, "the provider", func() error { _, err := client.Enqueue(ctx, sms); return err })
	await.True(t, "the message at the provider", func() bool { return r.count() > 0 })
}

// TestARowWithoutItsSecretIsOutAloneUntilTheSecretComes checks that a provider row without its secret affects no other
// channel, and that its messages are sent once the secret exists.
func TestARowWithoutItsSecretIsOutAloneUntilTheSecretComes(t *testing.T) {
	t.Parallel()
	db, _, env := database(t)
	r, secrets := newReceiver(t), t.TempDir()
	env = append(env, "TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_PROVIDER_SECRETS_DIR="+secrets,
		"TASKQUEUE_ALLOWED_HOSTS=127.0.0.1")
	for channel, settings := range map[string]string{
		"sms":      `{"kind":"http","url":` + strconv.Quote(r.URL) + `,"body":"{}","success":{"statuses":[200]}}`,
		"whatsapp": `{"kind":"graph","phone_number_id":"1","token_secret":"graph_token","base_url":` + strconv.Quote(r.URL) + `}`,
	} {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO tq_provider (channel, provider, settings) VALUES (?, 'own', ?)", channel, settings); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	check := verb(t, env, &out, "providers")
	err := check.Run(t.Context(), nil)
	if !errors.Is(err, app.ErrProvidersOut) || !strings.Contains(out.String(), `OUT: secret "graph_token"`) || strings.Count(out.String(), "in force") != 1 {
		t.Errorf("the verb says %v and\n%s\nwant the row of WhatsApp out, that of SMS in force", err, out.String())
	}
	p := newProcess(t, env...)
	p.ready()
	client, ctx := p.client()
	kind, key := "opt_in", "patient-7"
	await.Nil(t, "the consent", func() error {
		_, err := client.UpdateConsent(ctx, &taskqueuev1.UpdateConsentRequest{Type: &kind, CacheKey: &key})
		return err
	})
	task := func(number int32, data string) {
		t.Helper()
		await.Nil(t, "a task", func() error {
			_, err := client.Enqueue(ctx, &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{{Task: number, TaskType: 2, Data: &typev1.RawJSON{Json: []byte(data)}}}})
			return err
		})
	}
	task(6, `{"contact":9812345678,"countryCode":91,"message":"Ready","cache_key":"patient-7"}`)
	task(1, `{"contact":9812345678,"countryCode":91,"message":"Ready"}`)
	await.True(t, "the SMS", func() bool { return r.count() == 1 })
	if err := os.WriteFile(filepath.Join(secrets, "graph_token"), []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the WhatsApp message, once its secret is there", func() bool { return r.count() == 2 })
	if err := check.Run(t.Context(), nil); err != nil {
		t.Errorf("the verb, once the secret is there: %v", err)
	}
}

func verb(t *testing.T, environ []string, out io.Writer, name string) cli.Verb {
	t.Helper()
	list := app.Verbs(environ, out, io.Discard)
	at := slices.IndexFunc(list, func(v cli.Verb) bool { return v.Name == name })
	if at < 0 {
		t.Fatalf("there is no verb %s", name)
	}
	return list[at]
}
