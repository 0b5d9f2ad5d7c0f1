package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// IsUnavailable reports whether err is temporary: the connection broke or could not be made, the server or its disk is
// full, the server is shutting down or read-only, or other transactions lock the rows. The request is not at fault, so
// the response is 503, never 500 or 400.
//
// ErrCommitUnknown is not temporary, because a caller that retries could do the work twice. Neither is the end of the
// caller's own context.
func IsUnavailable(err error) bool {
	switch {
	case err == nil,
		errors.Is(err, ErrCommitUnknown),
		errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, driver.ErrBadConn),
		errors.Is(err, mysql.ErrInvalidConn),
		errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	if netErr := (*net.OpError)(nil); errors.As(err, &netErr) {
		return true
	}
	return unavailableNumber(number(err))
}

func unavailableNumber(number uint16) bool {
	switch number {
	case errTooManyConnections,
		errTooManyUserConnections,
		errUserLimit,
		errServerShutdown,
		errConnectionKilled,
		errReadOnly,
		errReadOnlyTransaction,
		errDiskFull,
		errWrite,
		errTableFull:
		return true
	case errDeadlock, errLockWaitTimeout, errRecordChanged: // after all attempts of InTx
		return true
	}
	return false
}

// retryAfter is the time that callers should wait while the database is unavailable.
const retryAfter = 5 * time.Second

// Wrap adds the operation to a database error. A temporary error becomes the platform's 503. An unknown commit becomes
// an error that asks the caller to check the state before a retry.
func Wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCommitUnknown):
		return apperr.New(apperr.Unavailable, "OUTCOME_UNKNOWN",
			"The database did not answer whether this was saved; check the current state before you try again").
			WithCause(fmt.Errorf("%s: %w", operation, err))
	case IsUnavailable(err):
		return apperr.New(apperr.Unavailable, "DATABASE_DOWN", "The database does not answer; try again in a few seconds").
			WithRetryAfter(retryAfter).WithCause(fmt.Errorf("%s: %w", operation, err))
	default:
		return fmt.Errorf("%s: %w", operation, err)
	}
}
