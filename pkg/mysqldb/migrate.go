package mysqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

const migrateLockSeconds = 120

// Migrate applies the goose SQL files of files, one service's own tables, in order. Replicas that start at
// once wait for each other on a server-wide lock. Version table: goose_<service>.
func Migrate(ctx context.Context, db *sql.DB, service string, files fs.FS, log *slog.Logger) error {
	provider, err := goose.NewProvider(goose.DialectMySQL, db, files,
		goose.WithTableName("goose_"+service),
		goose.WithSessionLocker(sessionLocker(service)),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, r := range results {
		log.Info("migrated", "file", r.Source.Path, "took", r.Duration.String())
	}
	return nil
}

// sessionLocker locks with GET_LOCK, which is server-wide: the name holds the database's hash.
type sessionLocker string

func (s sessionLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	name, err := s.name(ctx, conn)
	if err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, migrateLockSeconds).Scan(&got); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	if got.Int64 != 1 {
		return errors.New("lock migrations: another process holds the lock; wait for it and run migrate again")
	}
	return nil
}

func (s sessionLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	name, err := s.name(ctx, conn)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name)
	return err
}

func (s sessionLocker) name(ctx context.Context, conn *sql.Conn) (string, error) {
	return LockName(ctx, conn, "migrate_"+string(s))
}

// Querier is what LockName needs: a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// LockName returns a GET_LOCK name for purpose that is private to the present database: at most 64 characters.
func LockName(ctx context.Context, q Querier, purpose string) (string, error) {
	var database string
	if err := q.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("name lock: %w", err)
	}
	sum := sha256.Sum256([]byte(database + "\x00" + purpose))
	return "lab_" + hex.EncodeToString(sum[:16]), nil
}

// RequireColumns checks that tables which the service does not own have the columns that it reads. The error
// lists what is missing as DDL hints; nothing is altered.
func RequireColumns(ctx context.Context, db *sql.DB, columns map[string][]string) error {
	rows, err := db.QueryContext(ctx, "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()")
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	defer rows.Close()
	present := map[string]bool{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return fmt.Errorf("read schema: %w", err)
		}
		present[table+"."+column] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	var missing []string
	for table, names := range columns {
		for _, name := range names {
			if !present[table+"."+name] {
				missing = append(missing, fmt.Sprintf("ALTER TABLE `%s` ADD COLUMN `%s` …", table, name))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the platform's tables lack columns that this service reads; ask their owner for:\n  %s",
		strings.Join(missing, "\n  "))
}
