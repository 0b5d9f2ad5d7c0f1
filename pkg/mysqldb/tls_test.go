package mysqldb_test

import (
	"database/sql"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
)

// rotate gives the test engine the certificate of a. Other tests do not mind: they connect without TLS.
func rotate(t *testing.T, db *sql.DB, a *certificates.Authority, until time.Time) {
	t.Helper()
	folder := engine.Setting("LAB_TEST_MYSQL_TLS")
	if folder == "" {
		engine.Missing(t, "no certificate of the database: run the tests under `devstack engines -- go test …`")
	}
	a.Member(t, folder, until, a)
	reload := "ALTER INSTANCE RELOAD TLS"
	if mysqltest.IsMariaDB(t, db) {
		reload = "FLUSH SSL"
	}
	if _, err := db.ExecContext(t.Context(), reload); err != nil {
		t.Fatal(err)
	}
}

// cipher opens a new connection with the given files and returns how it is encrypted.
func cipher(t *testing.T, dsn string, secure tlsfiles.Client) (string, error) {
	t.Helper()
	pool := encrypted(t, dsn, secure)
	defer pool.Close()
	return cipherOf(t, pool)
}

func cipherOf(t *testing.T, pool *sql.DB) (used string, err error) {
	t.Helper()
	var name string
	err = pool.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &used)
	return used, err
}

func encrypted(t *testing.T, dsn string, secure tlsfiles.Client) *sql.DB {
	t.Helper()
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(parsed.Addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := mysqldb.Open(mysqldb.Config{Host: host, Port: number, User: parsed.User, Database: parsed.DBName, PoolSize: 2, TLS: secure}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// One test, since the server has one certificate: right, wrong, expired, and rotated while the pool is open.
func TestTheDatabaseIsReachedOverTLS(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	ours, theirs := certificates.Made(t, "ours"), certificates.Made(t, "theirs")
	soon, over := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	member, stranger := ours.Member(t, t.TempDir(), soon, ours), theirs.Member(t, t.TempDir(), soon, theirs)
	rotate(t, db, ours, soon)
	cases := map[string]struct {
		secure tlsfiles.Client
		fine   bool
	}{
		"its authority":        {tlsfiles.Client{Enabled: true, CA: member.CA}, true},
		"with a certificate":   {tlsfiles.Client{Enabled: true, CA: member.CA, Cert: member.Cert, Key: member.Key}, true},
		"another authority":    {tlsfiles.Client{Enabled: true, CA: stranger.CA}, false},
		"the system's":         {tlsfiles.Client{Enabled: true}, false},
		"files that went":      {tlsfiles.Client{Enabled: true, CA: member.CA + ".gone"}, false},
		"a stranger's in ours": {tlsfiles.Client{Enabled: true, CA: member.CA, Cert: stranger.Cert, Key: stranger.Key}, false},
		"not encrypted at all": {tlsfiles.Client{}, true},
	}
	for name, c := range cases {
		used, err := cipher(t, dsn, c.secure)
		if (err == nil) != c.fine || (err == nil && (used != "") != c.secure.Enabled) {
			t.Errorf("%s: cipher %q, %v", name, used, err)
		}
	}
	pool := encrypted(t, dsn, tlsfiles.Client{Enabled: true, CA: member.CA})
	defer pool.Close()
	if mysqltest.IsMariaDB(t, db) { // MySQL does not even load one
		rotate(t, db, ours, over)
		if _, err := cipherOf(t, pool); err == nil {
			t.Error("an expired certificate was taken")
		}
	}
	rotate(t, db, theirs, soon)
	if _, err := cipherOf(t, pool); err == nil {
		t.Error("another authority's certificate was taken")
	}
	if content, err := os.ReadFile(stranger.CA); err != nil || os.WriteFile(member.CA, content, 0o600) != nil {
		t.Fatal("replace the authority", err)
	}
	if used, err := cipherOf(t, pool); err != nil || used == "" {
		t.Errorf("after both sides rotated: cipher %q, %v", used, err)
	}
}
