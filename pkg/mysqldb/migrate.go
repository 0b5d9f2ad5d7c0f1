package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	// migrationTries limits the attempts of a migration while other transactions lock a table that it changes: two minutes
	// in total, with pauses in which the statements queued behind it can run.
	migrationTries = 12
	migrationPause = 5 * time.Second
	lockTries      = 600 // for the lock of another process's migration; also two minutes
	lockPause      = 200 * time.Millisecond
	maxInTheWay    = 3 // transactions named in an error
)

// Migrate applies the migrations of a service's schemas in order. db must be a pool of OpenForMigrations. Processes
// that start at the same time wait for each other. Each schema has a version table: goose_<service> or
// goose_<part>_<service>.
//
// An interrupted migration runs again from its first statement, so each statement must be repeatable. The lock is held
// during the library's whole work; the library's own session locker leaves out the first read of the version table,
// where two first starts would collide.
func Migrate(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	service := schemas[0].Service
	leader := NewLeader(db, Lock{Service: service, Purpose: "migrate"})
	defer leader.Close(ctx)
	for range lockTries {
		led, err := leader.Run(ctx, func(ctx context.Context) error { return migrateWithRetry(ctx, db, schemas, log) })
		if led || err != nil {
			return err
		}
		if err := lifecycle.Pause(ctx, lockPause); err != nil {
			return fmt.Errorf("lock migrations: %w", err)
		}
	}
	return errors.New("lock migrations: another process holds the lock; wait for it and run migrate again")
}

// migrateWithRetry retries while other transactions block a migration.
func migrateWithRetry(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	for try := 1; ; try++ {
		err := migrateAll(ctx, db, schemas, log)
		if number(err) != errLockWaitTimeout {
			return err
		}
		others := openTransactions(ctx, db)
		if try == migrationTries {
			return fmt.Errorf("%w; a transaction has locked a table that the migration changes; open transactions: %s; end it"+
				" (KILL and its connection) and run migrate again, which continues where this one stopped", err, others)
		}
		log.Warn("migration is blocked by a transaction, will retry", "error", err.Error(), "open", others)
		if err := lifecycle.Pause(ctx, migrationPause); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
}

func migrateAll(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	for _, s := range schemas {
		if _, err := s.version(ctx, db); err != nil { // checks all schemas before anything is written
			return err
		}
	}
	for _, s := range schemas {
		if err := s.up(ctx, db, log); err != nil {
			return err
		}
		if err := s.requireColumns(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

func (s Schema) up(ctx context.Context, db *sql.DB, log *slog.Logger) error {
	provider, err := goose.NewProvider(
		goose.DialectMySQL,
		db,
		s.Files,
		goose.WithTableName(s.versions()),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if err := dropHalfMade(ctx, db, s.versions()); err != nil {
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

// dropHalfMade removes a version table without rows. The process that created it died before inserting the first row,
// and the library treats such a table as an error. It contains no information.
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

// openTransactions describes the oldest open transactions, without their statements, which contain values.
func openTransactions(ctx context.Context, db *sql.DB) string {
	const query = "SELECT CONCAT('connection ', p.ID, ' of ', p.USER, '@', p.HOST, ', for '," +
		" TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(NOW(), '+00:00', 'SYSTEM')), ' s') FROM information_schema.INNODB_TRX t" +
		" JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id" +
		" WHERE p.ID <> CONNECTION_ID() ORDER BY t.trx_started LIMIT ?"
	rows, err := db.QueryContext(ctx, query, maxInTheWay)
	if err != nil {
		return fmt.Sprintf("unknown to this user (%v)", err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var transaction string
		if err := rows.Scan(&transaction); err != nil {
			return fmt.Sprintf("unknown (%v)", err)
		}
		all = append(all, transaction)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		return "none visible to this user"
	}
	return strings.Join(all, "; ")
}
