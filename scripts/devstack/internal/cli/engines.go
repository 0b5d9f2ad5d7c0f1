package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// Environment variables that tests read.
const (
	testMySQL = "LAB_TEST_MYSQL_DSN"
	testMongo = "LAB_TEST_MONGO_URI"
	testKafka = "LAB_TEST_KAFKA_BROKERS"
	testES    = "LAB_TEST_ES_URL"
	// testMySQLTLS is the folder with the database's certificate; a test may rotate it.
	testMySQLTLS = "LAB_TEST_MYSQL_TLS"
)

// runEngines starts the engines that the environment does not name, in a temporary directory, runs the command with
// their addresses, and returns the command's exit code.
func runEngines(ctx context.Context, s settings.Settings, args []string, stderr io.Writer) (int, error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("engines needs a command: devstack engines -- go test ./…")
	}
	wanted := install.Wanted{
		MySQL:         os.Getenv(testMySQL) == "",
		Redis:         true,
		RealMySQL:     s.RealMySQL,
		Distributions: s.Distributions,
		Kafka:         s.Pipeline && os.Getenv(testKafka) == "",
		Elasticsearch: s.Pipeline && os.Getenv(testES) == "",
	}
	if err := install.Packages(ctx, wanted, stderr); err != nil {
		return 1, err
	}
	java, err := install.FetchJava(ctx, wanted, stderr)
	if err != nil {
		return 1, err
	}
	work, err := os.MkdirTemp("", "labengines-")
	if err != nil {
		return 1, fmt.Errorf("temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	tables := tableFolder(work)
	defer func() { _ = os.RemoveAll(tables) }()
	spawner := process.NewSpawner(process.Directory(work))
	defer spawner.Close()
	begin := time.Now()
	test := &testEngines{
		work: work, tables: tables,
		env: []string{"LAB_REQUIRE_ENGINES=1", "LAB_DISTRIBUTIONS=" + s.Distributions},
	}
	if err := test.describe(wanted, java); err != nil {
		return 1, err
	}
	children, err := engines.StartAll(ctx, spawner, test.wanted)
	defer process.StopAll(children, 0)
	if err != nil {
		return 1, err
	}
	fmt.Fprintf(stderr, "devstack: test engines ready in %.1f s\n", time.Since(begin).Seconds())
	return runWith(ctx, args, test.env)
}

// testEngines holds running engines whose data is deleted at the end, and the variables with their addresses.
type testEngines struct {
	work   string
	tables string // folder of the database's data
	wanted []engines.Engine
	env    []string
	ports  ports
}

// ports hands out ports of a reserved range of one hundred. A port from the range of outgoing connections could be in
// use before its engine listens.
type ports struct{ next int }

func (p *ports) take() (int, error) {
	if p.next == 0 {
		base, err := endpoints.FreeBase()
		if err != nil {
			return 0, fmt.Errorf("find free ports: %w", err)
		}
		p.next = base
	}
	p.next++
	return p.next - 1, nil
}

func (t *testEngines) describe(wanted install.Wanted, java install.Java) error {
	steps := []struct {
		wanted bool
		add    func() error
	}{
		{wanted.MySQL, func() error { return t.addMySQL(wanted) }},
		{os.Getenv(testMongo) == "", t.addMongo},
		{wanted.Kafka, func() error { return t.addKafka(java) }},
		{wanted.Elasticsearch, func() error { return t.addElasticsearch(java) }},
	}
	for _, step := range steps {
		if !step.wanted {
			continue
		}
		if err := step.add(); err != nil {
			return err
		}
	}
	return nil
}

func (t *testEngines) add(engine engines.Engine, variable, address string) {
	t.wanted, t.env = append(t.wanted, engine), append(t.env, variable+"="+address)
}

func (t *testEngines) place(name string) (engines.Place, error) {
	port, err := t.ports.take()
	return engines.Place{Data: filepath.Join(t.work, name), Log: filepath.Join(t.work, name+".log"), Port: port}, err
}

func (t *testEngines) addMySQL(wanted install.Wanted) error {
	at, err := t.place("mysql")
	if err != nil {
		return err
	}
	at.Data = filepath.Join(t.tables, "mysql")
	engine, err := engines.Relational(wanted, at, engines.Volatile)
	if err != nil {
		return err
	}
	certificate, err := t.certificate()
	if err != nil {
		return err
	}
	engine.Spec.Command = append(
		engine.Spec.Command,
		"--ssl-ca="+certificate.CA,
		"--ssl-cert="+certificate.Cert,
		"--ssl-key="+certificate.Key,
	)
	t.add(engine, testMySQL, fmt.Sprintf("root@tcp(127.0.0.1:%d)/", at.Port))
	t.env = append(t.env, testMySQLTLS+"="+filepath.Dir(certificate.CA))
	return nil
}

// certificate creates a certificate that no client trusts yet. With it the server offers TLS in addition to plain
// connections.
func (t *testEngines) certificate() (certificates.Files, error) {
	folder := filepath.Join(t.work, "mysql-tls")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return certificates.Files{}, fmt.Errorf("folder of certificates: %w", err)
	}
	authority, err := certificates.New("test engines")
	if err != nil {
		return certificates.Files{}, err
	}
	return authority.Issue(folder, time.Now().AddDate(1, 0, 0), authority)
}

func (t *testEngines) addMongo() error {
	at, err := t.place("mongo")
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	t.add(engines.DocumentStore(at, executable), testMongo, fmt.Sprintf("mongodb://127.0.0.1:%d/", at.Port))
	return nil
}

func (t *testEngines) addKafka(java install.Java) error {
	at, err := t.place("kafka")
	if err != nil {
		return err
	}
	controller, err := t.ports.take()
	t.add(
		engines.Kafka(at, engines.KafkaBroker{Controllers: []string{fmt.Sprintf("127.0.0.1:%d", controller)}}, java),
		testKafka,
		fmt.Sprintf("127.0.0.1:%d", at.Port),
	)
	return err
}

func (t *testEngines) addElasticsearch(java install.Java) error {
	at, err := t.place("elasticsearch")
	if err != nil {
		return err
	}
	transport, err := t.ports.take()
	node := engines.SearchNode{Transports: []string{fmt.Sprintf("127.0.0.1:%d", transport)}}
	t.add(engines.Elasticsearch(at, node, java), testES, fmt.Sprintf("http://127.0.0.1:%d", at.Port))
	return err
}

// runWith runs the command in the foreground and waits for it. Ctrl-C in the terminal reaches the command directly.
func runWith(ctx context.Context, args, env []string) (int, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	done := make(chan struct{})
	defer close(done)
	go forward(signals, done, cmd.Process)
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 1, fmt.Errorf("%s: %w", args[0], err)
	case err != nil:
		return 1, err
	}
	return 0, nil
}

// forward passes SIGTERM and SIGHUP on to the command. It does not pass on interrupts, which the terminal sends to
// both.
func forward(signals <-chan os.Signal, done <-chan struct{}, command *os.Process) {
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			if s != os.Interrupt {
				_ = command.Signal(s)
			}
		}
	}
}
