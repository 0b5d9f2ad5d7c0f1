package mysqltest

import (
	"database/sql"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Via returns another pool on the database of dsn that reaches it at address, as over a link. The server ends its
// sessions sessionTimeout after their last statement; 0 leaves what the services have.
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

// Address returns where the server of dsn listens.
func Address(t testing.TB, dsn string) string {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return config.Addr
}
