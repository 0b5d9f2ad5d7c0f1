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

// Durability chooses between a database that survives a power cut and one that only has to be quick.
type Durability int

const (
	// Durable flushes the redo log and the binary log at every commit.
	Durable Durability = iota
	// Volatile leaves flushing to the operating system: for tests.
	Volatile
)

// maxSocketPath is what fits in sockaddr_un.
const maxSocketPath = 107

// MariaDB describes a private server with row-based binary log; root has no password over TCP on 127.0.0.1.
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

// runAs: the server refuses to run as root unless told so by name.
func runAs() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// installDatabase makes the data directory once. It works beside the final place and renames, so that a crash
// in the middle never leaves a half-made directory that looks complete.
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
	config.Logger = &mysql.NopLogger{} // a server that is not there yet is no news
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	return db.PingContext(ctx)
}

// scratch is the server's own temporary directory: at its start a server deletes what looks like a temporary
// table, also a neighbour's.
func scratch(data string) string { return data + ".tmp" }

// socketPath is in the data directory, or under the temporary directory when that would be too long.
func socketPath(data string) string {
	path := filepath.Join(data, "mysql.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(data))
	return filepath.Join("/tmp", fmt.Sprintf("labstack-%x.sock", sum.Sum64()))
}
