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

// rotate gives the test engine the certificate of a. Other tests are not affected, because they connect without TLS.
func rotate(t *testing.T, db *sql.DB, a *certificates.Authority, until time.Time) {
	t.Helper()
	folder := engine.Setting("LAB_TEST_MYSQL_TLS")
	if folder == "" {
		engine.Missing(t, "the database has no certificate: run the tests with `devstack engines -- go test …`")
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

// cipher opens a connection with the given files and returns its cipher.
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

// One test covers valid, wrong, expired and rotated certificates, because the server has only one certificate.
func TestTLSConnections(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	ours, theirs := certificates.Made(t, "ours"), certificates.Made(t, "theirs")
	soon, over := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	member, foreign := ours.Member(t, t.TempDir(), soon, ours), theirs.Member(t, t.TempDir(), soon, theirs)
	rotate(t, db, ours, soon)
	cases := map[string]struct {
		secure tlsfiles.Client
		fine   bool
	}{
		"the server's CA":                  {tlsfiles.Client{Enabled: true, CA: member.CA}, true},
		"with a certificate":               {tlsfiles.Client{Enabled: true, CA: member.CA, Cert: member.Cert, Key: member.Key}, true},
		"another CA":                       {tlsfiles.Client{Enabled: true, CA: foreign.CA}, false},
		"the system's CAs":                 {tlsfiles.Client{Enabled: true}, false},
		"missing files":                    {tlsfiles.Client{Enabled: true, CA: member.CA + ".gone"}, false},
		"client certificate of another CA": {tlsfiles.Client{Enabled: true, CA: member.CA, Cert: foreign.Cert, Key: foreign.Key}, false},
		"no TLS":                           {tlsfiles.Client{}, true},
	}
	for name, c := range cases {
		used, err := cipher(t, dsn, c.secure)
		if (err == nil) != c.fine || (err == nil && (used != "") != c.secure.Enabled) {
			t.Errorf("%s: cipher = %q, error %v, success should be %t", name, used, err, c.fine)
		}
	}
	pool := encrypted(t, dsn, tlsfiles.Client{Enabled: true, CA: member.CA})
	defer pool.Close()
	if mysqltest.IsMariaDB(t, db) { // MySQL does not load an expired certificate
		rotate(t, db, ours, over)
		if _, err := cipherOf(t, pool); err == nil {
			t.Error("query with an expired server certificate = nil, want an error")
		}
	}
	rotate(t, db, theirs, soon)
	if _, err := cipherOf(t, pool); err == nil {
		t.Error("query with another CA's server certificate = nil, want an error")
	}
	if content, err := os.ReadFile(foreign.CA); err != nil || os.WriteFile(member.CA, content, 0o600) != nil {
		t.Fatal("replace the CA's file:", err)
	}
	if used, err := cipherOf(t, pool); err != nil || used == "" {
		t.Errorf("after both sides rotated: cipher = %q, error %v, want success", used, err)
	}
}
