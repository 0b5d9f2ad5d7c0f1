package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

const migrateLockSeconds = 25 // below the read timeout of a statement

// Migrate applies the goose SQL files of files, one service's own tables, in order. Replicas that start at
// once wait for each other on a server-wide lock. Version table: goose_<service>.
//
// The lock is held around the library's whole work: its own session locker leaves out the first look at the
// version table, where two beginners collide.
func Migrate(ctx context.Context, db *sql.DB, service string, files fs.FS, log *slog.Logger) error {
	table := "goose_" + service
	provider, err := goose.NewProvider(
		goose.DialectMySQL,
		db,
		files,
		goose.WithTableName(table),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	unlock, err := lockMigrations(ctx, db, service)
	if err != nil {
		return err
	}
	defer unlock()
	if err := dropHalfMade(ctx, db, table); err != nil {
		return err
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

// lockMigrations takes the lock on a connection of its own; ending the connection frees it in any case.
func lockMigrations(ctx context.Context, db *sql.DB, service string) (unlock func(), err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}
	database, err := databaseOf(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	name := Lock{Service: service, Purpose: "migrate"}.Name(database)
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, migrateLockSeconds).Scan(&got); err != nil {
		return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), conn.Close())
	}
	if got.Int64 != 1 {
		return nil, errors.Join(
			errors.New("lock migrations: another process holds the lock; wait for it and run migrate again"),
			conn.Close(),
		)
	}
	return func() {
		ctx := context.WithoutCancel(ctx)
		_, _ = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name) // a lost connection has freed it
		_ = conn.Close()
	}, nil
}

// dropHalfMade removes a version table without rows: its creator died before the first row, which the library
// takes for an error from then on. Nothing was recorded in it.
func dropHalfMade(ctx context.Context, db *sql.DB, table string) error {
	var rows int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM `"+table+"`").Scan(&rows)
	if IsNoTable(err) || (err == nil && rows > 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", table, err)
	}
	if _, err := db.ExecContext(ctx, "DROP TABLE `"+table+"`"); err != nil {
		return fmt.Errorf("drop empty %s: %w", table, err)
	}
	return nil
}

// RequireColumns checks that tables which the service does not own have the columns that it reads. The error
// lists what is missing as DDL hints; nothing is altered.
func RequireColumns(ctx context.Context, db *sql.DB, columns map[string][]string) error {
	rows, err := db.QueryContext(
		ctx,
		"SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()",
	)
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
