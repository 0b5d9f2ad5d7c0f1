package engines

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// Durability selects whether the database survives a power failure or is fast.
type Durability int

const (
	// Durable flushes the redo log and the binary log at every commit.
	Durable Durability = iota
	// Volatile leaves flushing to the operating system; use it in tests only.
	Volatile
)

// maxSocketPath is the max length in bytes of a path in sockaddr_un, without its final zero byte.
const maxSocketPath = 107

// MariaDB returns a private server with a row-based binary log. User root has no password and connects over TCP on
// 127.0.0.1.
func MariaDB(place Place, durability Durability) (Engine, error) {
	server, err := install.LookPath("mariadbd", "mysqld")
	if err != nil {
		return Engine{}, err
	}
	args := append([]string{
		server,
		"--no-defaults",
		"--datadir=" + place.Data,
		"--socket=" + socketPath(place.Data),
		"--pid-file=" + filepath.Join(
			place.Data,
			"mariadbd.pid",
		),
		"--tmpdir=" + scratch(place.Data),
		"--port=" + strconv.Itoa(place.Port),
	}, serverOptions()...)
	args = append(args, durabilityOptions(durability)...)
	args = append(args, runAs()...)
	return Engine{
		Spec:    process.Spec{Name: "mysql", Command: args, LogFile: place.Log},
		Prepare: func(ctx context.Context) error { return installDatabase(ctx, place) },
		Ready:   func(ctx context.Context) error { return pingMySQL(ctx, place.Port) },
	}, nil
}

func serverOptions() []string {
	return []string{
		"--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-slave-start",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci",
		"--server-id=1", "--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=FULL", "--expire-logs-days=2",
		"--max-connections=400", "--max-allowed-packet=64M", "--innodb-buffer-pool-size=192M", "--innodb-log-file-size=96M",
		"--performance-schema=OFF", "--aria-pagecache-buffer-size=8M", "--key-buffer-size=8M",
	}
}

func durabilityOptions(d Durability) []string {
	if d == Volatile {
		return []string{"--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-flush-method=nosync"}
	}
	return []string{"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1"}
}

// runAs returns the option without which the server refuses to run as root; nil for other users.
func runAs() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// installDatabase creates the data directory at the first start. It fills a neighbouring folder and renames it, so that
// a crash never leaves a half-made directory that looks complete.
func installDatabase(ctx context.Context, place Place) error {
	if err := os.MkdirAll(scratch(place.Data), 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(place.Data, "mysql")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	install, err := install.LookPath("mariadb-install-db", "mysql_install_db")
	if err != nil {
		return err
	}
	work := place.Data + ".new"
	if err := errors.Join(
		os.RemoveAll(work),
		os.RemoveAll(place.Data),
		os.MkdirAll(filepath.Dir(work), 0o755),
	); err != nil {
		return err
	}
	args := append(
		[]string{"--no-defaults", "--datadir=" + work, "--auth-root-authentication-method=normal", "--skip-test-db"},
		runAs()...)
	cmd := exec.CommandContext(ctx, install, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch(place.Data))
	process.DieWithParent(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(install), err, output)
	}
	return os.Rename(work, place.Data)
}

func pingMySQL(ctx context.Context, port int) error {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = "root", "tcp", "127.0.0.1:"+strconv.Itoa(port)
	config.Logger = &mysql.NopLogger{} // refused connections are expected while the server starts
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// scratch returns the temporary directory of one server. Servers must not share one: at its start a server deletes
// every file there that looks like a temporary table.
func scratch(data string) string { return data + ".tmp" }

// socketPath returns a path in the data directory, or below the system's temporary directory when that would be too
// long for a socket.
func socketPath(data string) string {
	path := filepath.Join(data, "mysql.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(data))
	return filepath.Join("/tmp", fmt.Sprintf("labstack-%x.sock", sum.Sum64()))
}
