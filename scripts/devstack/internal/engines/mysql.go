package engines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// mysqlServer returns the command line of the unpacked server, which runs with the libraries of its own package set.
func mysqlServer(distributions string) ([]string, error) {
	usr := filepath.Join(install.MySQLRoot(distributions), "usr")
	loaders, err := filepath.Glob(filepath.Join(usr, "lib", "*-linux-gnu*", "ld-linux*.so.*"))
	if err != nil || len(loaders) == 0 {
		return nil, errors.New("MySQL is not fetched")
	}
	share := filepath.Join(usr, "share", "mysql")
	return []string{
		loaders[0],
		"--library-path",
		filepath.Dir(loaders[0]),
		filepath.Join(usr, "sbin", "mysqld"),
		"--no-defaults",
		"--basedir=" + usr,
		"--lc-messages-dir=" + share,
		"--character-sets-dir=" + filepath.Join(share, "charsets"),
		"--plugin-dir=" + filepath.Join(usr, "lib", "mysql", "plugin"),
		"--secure-file-priv=NULL",
		"--character-set-server=utf8mb4",
		"--collation-server=utf8mb4_unicode_ci",
	}, nil
}

// MySQL returns a private MySQL server with row-based binary log and GTIDs. User root has no password and connects over
// TCP on 127.0.0.1. install.FetchMySQL must have run before.
func MySQL(place Place, durability Durability, distributions string) (Engine, error) {
	server, err := mysqlServer(distributions)
	if err != nil {
		return Engine{}, err
	}
	server = append(append(server, "--tmpdir="+scratch(place.Data)), runAs()...)
	args := append(
		append([]string{}, server...),
		"--datadir="+place.Data,
		"--socket=",
		"--port="+strconv.Itoa(place.Port),
		"--pid-file="+filepath.Join(
			place.Data,
			"mysqld.pid",
		),
		"--init-file="+initFile(place.Data),
		"--bind-address=127.0.0.1",
		"--skip-name-resolve",
		"--mysqlx=OFF",
		"--server-id=1",
		"--log-bin=binlog",
		"--binlog-row-image=FULL",
		"--binlog-expire-logs-seconds=172800",
		"--gtid-mode=ON",
		"--enforce-gtid-consistency=ON",
		"--max-connections=400",
		"--max-allowed-packet=64M",
		"--innodb-buffer-pool-size=192M",
		"--innodb-redo-log-capacity=192M",
		"--performance-schema=OFF",
	)
	if durability == Volatile {
		args = append(args, "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
	}
	return Engine{
		Spec:    process.Spec{Name: "mysql", Command: args, LogFile: place.Log},
		Prepare: func(ctx context.Context) error { return initializeMySQL(ctx, place, server) },
		Ready:   func(ctx context.Context) error { return pingMySQL(ctx, place.Port) },
	}, nil
}

func initFile(data string) string { return data + ".init.sql" }

// rootOverTCP creates root@127.0.0.1. The server itself creates root@localhost only, which does not match TCP
// connections when name resolution is off.
const rootOverTCP = `SET sql_log_bin=0;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

// initializeMySQL creates the data directory at the first start, in a neighbouring folder that is renamed, as
// installDatabase does.
func initializeMySQL(ctx context.Context, place Place, server []string) error {
	if err := os.MkdirAll(scratch(place.Data), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(initFile(place.Data), []byte(rootOverTCP), 0o600); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(place.Data, "mysql")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	work := place.Data + ".new"
	if err := errors.Join(os.RemoveAll(work), os.RemoveAll(place.Data)); err != nil {
		return err
	}
	args := append(append([]string{}, server[1:]...), "--initialize-insecure", "--datadir="+work)
	cmd := exec.CommandContext(ctx, server[0], args...)
	process.DieWithParent(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("initialize MySQL: %w\n%s", err, output)
	}
	return os.Rename(work, place.Data)
}
