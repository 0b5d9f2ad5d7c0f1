package capture

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	"github.com/labplatform/labplatform/scripts/e2e/conformance"
)

const startTimeout = 10 * time.Minute // including a first download of the engines and a first build

var (
	// platform is the running platform of this test binary. Tests that use it are not parallel.
	platform *sandbox.Sandbox
	// broker is the link through which every client of the platform reaches Kafka.
	broker *netfault.Link
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if broker, err = netfault.Listen(); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		return 1
	}
	defer broker.Close()
	recorder, err := conformance.Wrap(http.DefaultTransport)
	if err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		return 1
	}
	client.Transport = recorder
	platform, err = sandbox.Build(ctx, "LAB_SEED=none", "LAB_PIPELINE=on", "LAB_KAFKA_ADVERTISED="+broker.Addr(),
		"SEARCH_RATE_LIMIT_PER_MINUTE=1000000", "SEARCH_PATH_PREFIX="+searchPrefix)
	if err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		return 1
	}
	defer platform.Remove()
	broker.Serve(platform.KafkaListener())
	if _, err := platform.Up(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "capture: start the platform:", err)
		return 1
	}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // errors are expected while engines are down
	return max(m.Run(), recorder.Report(os.Stdout))
}

// database opens the platform's database for the workload and the comparison.
func database(t *testing.T) *sql.DB {
	t.Helper()
	return databaseAs(t, "", "")
}

// databaseAs opens the platform's database as another user; "" is the platform's own.
func databaseAs(t *testing.T, user, password string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(platform.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		config.User, config.Passwd = user, password
	}
	config.ParseTime, config.Loc = true, time.UTC
	config.Params = map[string]string{"time_zone": "'+00:00'"}
	// Long timeouts, because a statement that waits for a lock would still take effect after the client's timeout.
	config.Timeout, config.ReadTimeout, config.WriteTimeout = 2*time.Second, 2*time.Minute, 2*time.Minute
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// consumer is one cdc process.
type consumer struct {
	name string            // its name in the sandbox
	http string            // base URL of its administration listener
	env  map[string]string // variables that differ from the platform's
}

// consumers returns the platform's own consumer and a second one.
func consumers(t *testing.T, change map[string]string) []*consumer {
	t.Helper()
	return []*consumer{{name: "cdc", http: platform.Endpoints.CDC, env: change}, another(t, "cdc-two", change)}
}

// another returns an additional consumer with ports of its own.
func another(t *testing.T, name string, change map[string]string) *consumer {
	t.Helper()
	c := &consumer{name: name, env: map[string]string{}}
	maps.Copy(c.env, platform.Endpoints.Environ["cdc"])
	maps.Copy(c.env, change)
	admin, grpc := freeport.One(t), freeport.One(t)
	c.env["CDC_ADMIN_PORT"], c.env["CDC_GRPC_PORT"] = strconv.Itoa(admin), strconv.Itoa(grpc)
	c.http = fmt.Sprintf("http://127.0.0.1:%d", admin)
	return c
}

func (c *consumer) start(t *testing.T, program string) {
	t.Helper()
	if err := platform.StartProgram(c.name, []string{program, "serve"}, c.env); err != nil {
		t.Error(err)
	}
}

// program returns the path of the platform's cdc binary.
func program() string { return platform.Endpoints.Commands["cdc"][0] }

// verb runs a verb of cdc and returns its output.
func verb(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(), args...)
	cmd.Env = os.Environ()
	for key, value := range platform.Endpoints.Environ["cdc"] {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var client = &http.Client{Timeout: 20 * time.Second}

// fetch returns the body of a response with status 200. Any other status is an error.
func fetch(method, address, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, address, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, address, response.Status, text)
	}
	return text, err
}

// metrics returns the values of a metric by their labels, as printed; "" without labels.
func (c *consumer) metrics(name string) (map[string]float64, error) {
	text, err := fetch(http.MethodGet, c.http+"/metrics", "")
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		metric, labels, _ := strings.Cut(series, "{")
		if metric == name {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			values[strings.TrimSuffix(labels, "}")] = number
		}
	}
	return values, nil
}

func sum(values map[string]float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// onOneConnection runs a statement with an empty sql_mode, which allows zero dates.
func onOneConnection(db *sql.DB, statement string) error {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(context.Background(), "SET SESSION sql_mode=''"); err != nil {
		return err
	}
	_, err = conn.ExecContext(context.Background(), statement)
	return err
}
