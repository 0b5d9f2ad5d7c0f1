package install

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed fetch-mysql.sh
var fetchMySQL []byte

// mysqlSuite is the Debian suite that has a package of the MySQL server.
const mysqlSuite = "sid"

// MySQLRoot returns the folder of the unpacked server.
func MySQLRoot(distributions string) string { return filepath.Join(distributions, "mysql-"+mysqlSuite) }

// FetchMySQL unpacks a MySQL server into distributions once, and its clients mysql and mysqldump into the folder
// mysql-sid/bin there.
func FetchMySQL(ctx context.Context, distributions string, progress io.Writer) error {
	root := MySQLRoot(distributions)
	if _, err := os.Stat(filepath.Join(root, "bin", "mysqldump")); err == nil {
		return nil
	}
	fmt.Fprintln(progress, "fetching MySQL from Debian "+mysqlSuite+" (this happens once; about 340 MB unpacked)")
	if err := os.MkdirAll(distributions, 0o755); err != nil {
		return fmt.Errorf("fetch MySQL: %w", err)
	}
	cmd := exec.CommandContext(ctx, "bash", "-s", root, mysqlSuite)
	cmd.Stdin = bytes.NewReader(fetchMySQL)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("fetch MySQL: %w\n%s", err, output)
	}
	return nil
}
