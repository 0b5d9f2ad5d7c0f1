package mysqltest

import (
	"database/sql"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

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
