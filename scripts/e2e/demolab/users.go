package demolab

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// MakeUsers creates the database users with the statements in a file of the operations handbook, in the database that
// dsn names. All get the same password.
func MakeUsers(ctx context.Context, dsn, file, password string) error {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return fmt.Errorf("make users: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("make users: %w", err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return fmt.Errorf("make users: %w", err)
	}
	defer db.Close()
	statements := strings.NewReplacer("<password>", password, "ON lab.", "ON `"+config.DBName+"`.").Replace(string(text))
	for _, statement := range strings.Split(strings.TrimSpace(statements), ";\n") {
		if _, err := db.ExecContext(ctx, strings.TrimSuffix(statement, ";")); err != nil {
			return fmt.Errorf("make users: %s: %w", statement, err)
		}
	}
	return nil
}
