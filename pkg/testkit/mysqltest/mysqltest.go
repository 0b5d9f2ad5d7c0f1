// Package mysqltest gives each test its own database on the server at LAB_TEST_MYSQL_DSN and drops it at the end: an
// empty one, or a copy of a service's migrated tables (Template). Sessions have the services' settings: UTC, strict
// mode, READ COMMITTED.
package mysqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

// Env is the variable with the DSN of a user that may create databases, without a database name, such as
// root@tcp(127.0.0.1:13306)/.
const Env = "LAB_TEST_MYSQL_DSN"

const (
	setupTimeout = 30 * time.Second
	idleTimeout  = 20 * time.Second // idle connections are closed before the server does, as in pkg/mysqldb
)

// New returns a pool on a new, empty database. The pool is closed and the database dropped when t ends.
func New(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := Open(t)
	return db
}

// NewDSN creates a new, empty database like New and returns its DSN, for code that opens its own pool.
func NewDSN(t testing.TB) string {
	t.Helper()
	_, dsn := Open(t)
	return dsn
}

// Open returns the pool of New and the DSN of its database.
func Open(t testing.TB) (*sql.DB, string) {
	t.Helper()
	return open(t, "")
}

// open creates a database and runs the statements of script in it.
func open(t testing.TB, script string) (*sql.DB, string) {
	t.Helper()
	config := serverConfig(t)
	config.DBName = createDatabase(t, config, script)
	db := openPool(t, config)
	t.Cleanup(func() { _ = db.Close() })
	return db, config.FormatDSN()
}

func serverConfig(t testing.TB) *mysql.Config {
	t.Helper()
	dsn := engine.Setting(Env)
	if dsn == "" {
		engine.Missing(t, "no MySQL: set "+Env+", or run the tests with `devstack engines -- go test …`")
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("%s: %v", Env, err)
	}
	return config
}

// createDatabase creates a database and runs script in it, in one round trip.
func createDatabase(t testing.TB, config *mysql.Config, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	several := config.Clone()
	several.MultiStatements = true
	admin := openPool(t, several)
	requireServer(t, admin)
	name := "labtest_" + randomHex()
	script = "CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; USE `" + name + "`;" + script
	if _, err := admin.ExecContext(ctx, script); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() { dropDatabase(t, admin, name) })
	return name
}

// requireServer fails a run on MariaDB if LAB_DATABASE requires MySQL. Reading the variable also makes it an input of
// the test, so that Go's test cache separates the results of the two servers.
func requireServer(t testing.TB, db *sql.DB) {
	t.Helper()
	if engine.Setting("LAB_DATABASE") == "mysql" && IsMariaDB(t, db) {
		t.Fatal("LAB_DATABASE=mysql requires MySQL, but " + Env + " is a MariaDB")
	}
}

func dropDatabase(t testing.TB, admin *sql.DB, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	if _, err := admin.ExecContext(ctx, "DROP DATABASE IF EXISTS `"+name+"`"); err != nil {
		t.Logf("drop database %s: %v", name, err)
	}
	_ = admin.Close()
}

func openPool(t testing.TB, config *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysqldb.Connector(config)
	if err != nil {
		t.Fatalf("%s: %v", Env, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(8)
	db.SetConnMaxIdleTime(idleTimeout)
	return db
}

func randomHex() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// IsMariaDB reports whether the server is MariaDB, for the few cases in which MySQL rejects what MariaDB accepts.
func IsMariaDB(t testing.TB, db *sql.DB) bool {
	t.Helper()
	var version string
	if err := db.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(version, "MariaDB")
}

// Numbers returns a derived table named numbers with the column seq from 1 to most, for statements that insert many
// rows. MySQL and MariaDB have different syntax for sequences; this is plain SQL with a table of digits for each
// decimal place.
func Numbers(most int) string {
	const digits = "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4" +
		" UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	var sum, tables []string
	for place, reach := 0, 1; reach < most || place == 0; place, reach = place+1, reach*10 {
		sum = append(sum, fmt.Sprintf("d%d.n * %d", place, reach))
		tables = append(tables, fmt.Sprintf("%s d%d", digits, place))
	}
	return fmt.Sprintf("(SELECT seq FROM (SELECT %s + 1 AS seq FROM %s) every_number WHERE seq <= %d) numbers",
		strings.Join(sum, " + "), strings.Join(tables, " CROSS JOIN "), most)
}

// Via returns another pool on the database of dsn that connects to address, such as that of a link. The server closes
// its sessions sessionTimeout after their last statement; 0 keeps the services' timeout.
func Via(t testing.TB, dsn, address string, sessionTimeout time.Duration) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Addr = address
	if sessionTimeout > 0 {
		config.Params = map[string]string{"wait_timeout": strconv.Itoa(int(sessionTimeout.Seconds()))}
	}
	db := openPool(t, config)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Address returns the address of the server of dsn.
func Address(t testing.TB, dsn string) string {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.Addr
}
