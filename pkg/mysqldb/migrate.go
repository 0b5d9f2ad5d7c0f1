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
	// migrationTries is how often a migration is tried while other transactions hold a table that it changes: for two
	// minutes, with pauses in which the statements that queue behind it continue.
	migrationTries = 12
	migrationPause = 5 * time.Second
	lockTries      = 600 // for the lock that another process's migration holds: two minutes as well
	lockPause      = 200 * time.Millisecond
	mostInTheWay   = 3 // transactions that an error names
)

// Migrate applies the migrations of a service's schemas, one after the other. db is of OpenForMigrations. Processes
// that start at once wait for each other. Each schema has a version table: goose_<service>, goose_<part>_<service>.
//
// A migration that was interrupted anywhere runs again from its first statement, so each of its statements must bear
// that. The lock is held around the library's whole work: its own session locker leaves out the first look at the
// version table, where two beginners collide.
func Migrate(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	service := schemas[0].Service
	leader := NewLeader(db, Lock{Service: service, Purpose: "migrate"})
	defer leader.Close(ctx)
	for range lockTries {
		led, err := leader.Run(ctx, func(ctx context.Context) error { return patiently(ctx, db, schemas, log) })
		if led || err != nil {
			return err
		}
		if err := lifecycle.Pause(ctx, lockPause); err != nil {
			return fmt.Errorf("lock migrations: %w", err)
		}
	}
	return errors.New("lock migrations: another process holds the lock; wait for it and run migrate again")
}

// patiently tries again while other transactions are in the way.
func patiently(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	for try := 1; ; try++ {
		err := all(ctx, db, schemas, log)
		if number(err) != errLockWaitTimeout {
			return err
		}
		others := openTransactions(ctx, db)
		if try == migrationTries {
			return fmt.Errorf("%w; a transaction holds a table that the migration changes; open are: %s; end it"+
				" (KILL and its connection) and run migrate again, which goes on where this one stopped", err, others)
		}
		log.Warn("the migration waits for a transaction that holds a table", "error", err.Error(), "open", others)
		if err := lifecycle.Pause(ctx, migrationPause); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
}

func all(ctx context.Context, db *sql.DB, schemas []Schema, log *slog.Logger) error {
	for _, s := range schemas {
		if _, err := s.version(ctx, db); err != nil { // before anything is written
			return err
		}
	}
	for _, s := range schemas {
		if err := s.up(ctx, db, log); err != nil {
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

// openTransactions tells of the transactions that are open longest, without what they do: statements hold values.
func openTransactions(ctx context.Context, db *sql.DB) string {
	const query = "SELECT CONCAT('connection ', p.ID, ' of ', p.USER, '@', p.HOST, ', for '," +
		" TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(NOW(), '+00:00', 'SYSTEM')), ' s') FROM information_schema.INNODB_TRX t" +
		" JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id" +
		" WHERE p.ID <> CONNECTION_ID() ORDER BY t.trx_started LIMIT ?"
	rows, err := db.QueryContext(ctx, query, mostInTheWay)
	if err != nil {
		return fmt.Sprintf("unknown to this user (%v)", err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return fmt.Sprintf("unknown (%v)", err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		return "none that this user may see"
	}
	return strings.Join(all, "; ")
}
