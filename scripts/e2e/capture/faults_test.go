package capture

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// long reports whether LAB_LONG_TESTS requests the long forms of tests.
func long() bool { return os.Getenv("LAB_LONG_TESTS") != "" }

func rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// field is a platform whose consumers reach the database and the index through links that can fail.
type field struct {
	t         *testing.T
	rng       *rand.Rand
	admin     *sql.DB // as root, so that faults of the consumers do not stop it
	consumer  *sql.DB // as the consumers' user
	index     *indexProxy
	database  *netfault.Link
	binlog    *netfault.Link
	consumers []*consumer
	program   string
}

func newField(t *testing.T, program string, seed uint64) *field {
	t.Helper()
	f := &field{t: t, rng: rand.New(rand.NewPCG(seed, 7)), program: program, admin: database(t), consumer: databaseAs(t, consumerUser, consumerPassword),
		index: newIndexProxy(t, platform.Endpoints.Elasticsearch, seed)}
	own := platform.Endpoints.Environ["cdc"]
	for _, db := range []*sql.DB{f.admin, f.consumer} {
		db.SetMaxIdleConns(0) // an earlier fault may have broken idle ones
	}
	f.database = netfault.New(t, net.JoinHostPort(own["CDC_DB_HOST"], own["CDC_DB_PORT"]))
	f.binlog = netfault.New(t, net.JoinHostPort(own["CDC_DB_HOST"], own["CDC_DB_PORT"]))
	if err := admitConsumers(f.admin); err != nil {
		t.Fatal(err)
	}
	f.consumers = consumers(t, map[string]string{"CDC_ES_URL": f.index.URL, "CDC_DB_PORT": strconv.Itoa(f.database.Port()),
		"CDC_CONNECTOR_DB_HOST": "127.0.0.1", "CDC_CONNECTOR_DB_PORT": strconv.Itoa(f.binlog.Port()), "CDC_SESSION_TIMEOUT": "6s",
		"CDC_DB_USER": consumerUser, "CDC_DB_PASSWORD": consumerPassword})
	if err := platform.Stop("cdc"); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.consumers {
		c.start(t, program)
	}
	t.Cleanup(f.restore)
	return f
}

// restore ends all faults and starts the platform's own consumer again.
func (f *field) restore() {
	if f.t.Failed() {
		f.explain()
	}
	f.index.faulty.Store(false)
	if _, err := f.admin.Exec("SET GLOBAL read_only = OFF"); err != nil {
		f.t.Error(err)
	}
	for _, c := range f.consumers {
		if err := platform.Stop(c.name); err != nil {
			f.t.Log(err)
		}
	}
	if err := platform.Start("cdc", nil); err != nil {
		f.t.Error(err)
	}
}

// explain logs the state that the parts of the pipeline report.
func (f *field) explain() {
	out, err := verb(f.t, "connectors", "status")
	f.t.Log(out, err)
	for _, c := range f.consumers {
		for _, path := range []string{"/health", "/ready"} {
			response, err := client.Get(c.http + path)
			if err != nil {
				f.t.Log(c.name, path, err)
				continue
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			f.t.Logf("%s %s: %s %s", c.name, path, response.Status, text)
		}
	}
	f.t.Log(membership())
	for _, path := range []string{"/_cat/shards/user_details*?v", "/_cluster/allocation/explain"} {
		text, err := fetch(http.MethodGet, platform.Endpoints.Elasticsearch+path, "")
		f.t.Logf("index %s: %s %v", path, text, err) // the second path returns 400 if all shards are assigned
	}
	for _, name := range []string{"cdc", "cdc-two", "connector", "elasticsearch"} {
		f.t.Log(name, "said last:\n", complaints(filepath.Join(platform.Dir, "logs", name+".log"), 30))
	}
}

// complaints returns the last warnings and errors of a log.
func complaints(path string, most int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "WARN") || strings.Contains(line, "ERROR") {
			found = append(found, line[:min(len(line), 600)])
		}
	}
	return strings.Join(found[max(0, len(found)-most):], "")
}

// fault is a failure that begins and ends within do.
type fault struct {
	name string
	do   func() error
}

// crash kills an engine and starts it again.
func (f *field) crash(name string) fault {
	return fault{"kill " + name, func() error {
		if err := platform.Kill(name); err != nil {
			return err
		}
		rest(time.Duration(f.rng.IntN(1500)) * time.Millisecond)
		return platform.Start(name, nil)
	}}
}

// crashConsumer kills a consumer and starts it again.
func (f *field) crashConsumer(c *consumer) fault {
	return fault{"kill " + c.name, func() error {
		if err := platform.Kill(c.name); err != nil {
			return err
		}
		rest(time.Duration(f.rng.IntN(1500)) * time.Millisecond)
		c.start(f.t, f.program)
		return nil
	}}
}

// freeze stops a process with SIGSTOP for a time and lets it continue.
func freeze(name string, d time.Duration) fault {
	return fault{"freeze " + name, func() error {
		if err := platform.Signal(name, syscall.SIGSTOP); err != nil {
			return err
		}
		rest(d)
		return platform.Signal(name, syscall.SIGCONT)
	}}
}

func cut(name string, p *netfault.Link, d time.Duration) fault {
	return fault{"cut " + name, func() error {
		p.Cut()
		rest(d)
		p.Restore()
		return nil
	}}
}

// faults returns the faults of one round, in an order that depends on the seed.
func (f *field) faults() []fault {
	all := []fault{
		f.crashConsumer(f.consumers[0]), f.crashConsumer(f.consumers[1]), freeze("cdc", 9*time.Second), // longer than the session: a zombie
		f.crash("connector"), freeze("connector", 3*time.Second),
		f.crash("kafka"), freeze("kafka", 3*time.Second),
		f.crash("mysql"), f.crash("elasticsearch"), freeze("elasticsearch", 3*time.Second),
		cut("consumers and database", f.database, time.Second), cut("connectors and database", f.binlog, time.Second),
		cut("all clients and kafka", broker, 2*time.Second),
		readOnly(f.admin, f.consumer, 2*time.Second), deadlocks(f.admin, 3*time.Minute),
	}
	f.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// run causes the faults of one round, with pauses between them.
func (f *field) run(pause time.Duration) {
	for _, one := range f.faults() {
		f.t.Log(one.name)
		if err := one.do(); err != nil {
			f.t.Errorf("%s: got error %v, want none", one.name, err)
		}
		f.awaitEngines()
		rest(pause)
	}
}

// awaitEngines waits until every engine accepts connections, so that faults hit one at a time.
func (f *field) awaitEngines() {
	await.Nil(f.t, "the engines being back", func() error {
		for _, address := range []string{platform.KafkaListener(), hostOf(platform.Endpoints.Elasticsearch), hostOf(platform.Endpoints.Connector),
			net.JoinHostPort("127.0.0.1", platform.Endpoints.Environ["cdc"]["CDC_DB_PORT"])} {
			conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
			if err != nil {
				return fmt.Errorf("%s: %w", address, err)
			}
			_ = conn.Close()
		}
		return nil
	})
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}
