package mysqldb_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

// settings returns the settings of a service with the test's own database.
func settings(t *testing.T) mysqldb.Config {
	t.Helper()
	dsn, err := mysql.ParseDSN(mysqltest.NewDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	host, text, err := net.SplitHostPort(dsn.Addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return mysqldb.Config{Host: host, Port: port, User: dsn.User, Password: config.Secret(dsn.Passwd), Database: dsn.DBName, PoolSize: 2, PoolRecycleSeconds: 60}
}

func TestUsedUpPoolIsNotAnUnavailableDatabase(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	db, err := mysqldb.Open(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	probe, err := mysqldb.NewProbe(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	const callers = 200
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer leave()
	acquired := make(chan struct{}, callers)
	for range callers {
		group.Go(func() {
			conn, err := db.Conn(ctx)
			if err != nil {
				return
			}
			defer conn.Close()
			acquired <- struct{}{}
			<-ctx.Done()
		})
	}
	for range cfg.PoolSize {
		<-acquired
	}
	if inUse := db.Stats().InUse; inUse != cfg.PoolSize {
		t.Fatalf("connections in use = %d, want the whole pool", inUse)
	}
	for range 5 {
		if err := probe.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProbeReportsAnUnavailableDatabase(t *testing.T) {
	t.Parallel()
	probe, err := mysqldb.NewProbe(mysqldb.Config{Host: "127.0.0.1", Port: 1, User: "u", Database: "d", PoolSize: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := probe.Ready(t.Context()); !mysqldb.IsUnavailable(err) {
		t.Fatalf("Ready = %v, want an unavailable database", err)
	}
}

func TestProbeTimesOutOnASilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // the kernel accepts the connection, but no server responds
	cfg := mysqldb.Config{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, User: "u", Database: "d", PoolSize: 2}
	probe, err := mysqldb.NewProbe(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := probe.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "did not respond in time") {
		t.Fatalf("Ready = %v, want a timeout", err)
	}
}

func TestProbeReconnectsAfterItsConnectionIsClosed(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	probe, err := mysqldb.NewProbe(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := probe.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := mysqldb.Open(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var id int64
	const others = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	if err := db.QueryRowContext(t.Context(), others).Scan(&id); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "KILL CONNECTION "+strconv.FormatInt(id, 10))
	if err := probe.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestProbeNamesAMissingTable(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	probe, err := mysqldb.NewProbe(cfg, nil, "not_there")
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := probe.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "table not_there is missing") {
		t.Fatal(err)
	}
}
