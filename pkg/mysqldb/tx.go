package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of the server that are handled here.
const (
	errDuplicateEntry         = 1062
	errDeadlock               = 1213
	errLockWaitTimeout        = 1205 // a row was locked for longer than innodb_lock_wait_timeout
	errRecordChanged          = 1020 // MariaDB: the row changed since it was read
	errNoSuchTable            = 1146
	errTooManyConnections     = 1040
	errTooManyUserConnections = 1203
	errUserLimit              = 1226 // max_user_connections and similar limits
	errServerShutdown         = 1053
	errConnectionKilled       = 1927 // MariaDB only
	errReadOnly               = 1290 // a primary that has become a replica
	errReadOnlyTransaction    = 1792
	errDiskFull               = 1021
	errWrite                  = 1026 // the server cannot write a file
	errTableFull              = 1114 // the server's disk is full
)

const (
	maxAttempts     = 8
	firstRetryDelay = 5 * time.Millisecond
	maxRetryDelay   = 200 * time.Millisecond
)

// ErrCommitUnknown marks a commit without a response of the server: it may or may not have succeeded.
var ErrCommitUnknown = errors.New("outcome of the commit is unknown")

// InTx runs fn in a transaction and commits it. After deadlocks, lock timeouts and changed rows it runs fn again, up to
// eight times while ctx lasts, so fn's effects outside tx must be repeatable. An error of fn rolls back. A commit that
// fails without a response of the server returns ErrCommitUnknown.
func InTx(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	delay := firstRetryDelay
	for attempt := 1; ; attempt++ {
		err := once(ctx, db, fn)
		if err == nil || !retryable(err) || attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay/2 + rand.N(delay)):
		}
		delay = min(2*delay, maxRetryDelay)
	}
}

func once(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return commitError(ctx, err)
	}
	return nil
}

// commitError returns the error of a failed commit. It wraps ErrCommitUnknown unless the server refused the commit or
// the context ended before the commit was sent.
func commitError(ctx context.Context, err error) error {
	var serverErr *mysql.MySQLError
	if errors.As(err, &serverErr) {
		return fmt.Errorf("commit: %w", err)
	}
	// database/sql checks the context before it sends the commit, and rolls back if it has ended.
	if over := ctx.Err(); over != nil && (errors.Is(err, over) || errors.Is(err, sql.ErrTxDone)) {
		return fmt.Errorf("rolled back before the commit: %w", over)
	}
	return fmt.Errorf("commit: %w: %w", ErrCommitUnknown, err)
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) || errors.Is(err, mysql.ErrInvalidConn) {
		return nil
	}
	return err
}

func retryable(err error) bool {
	switch number(err) {
	case errDeadlock, errLockWaitTimeout, errRecordChanged:
		return true
	}
	return false
}

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// IsDuplicate reports whether err is a violation of a unique index.
func IsDuplicate(err error) bool { return number(err) == errDuplicateEntry }

// IsNoTable reports whether err means that a table does not exist, usually because migrations have not run.
func IsNoTable(err error) bool { return number(err) == errNoSuchTable }
