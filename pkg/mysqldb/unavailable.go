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

// IsUnavailable reports whether err says that the database cannot do the work now and may do it a moment later: the
// connection broke or could not be made, the server or its disk is full, it is shutting down, or others hold the rows.
// Nothing that the caller sent is wrong, so the answer is 503, never 500 or 400.
//
// A commit whose outcome is unknown is not among them (ErrCommitUnknown): a caller who tries again could do the work
// twice. Neither is the end of the caller's own context.
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
	if dial := (*net.OpError)(nil); errors.As(err, &dial) {
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
	case errDeadlock, errLockWaitTimeout, errRecordChanged: // InTx tried several times: too many callers want the rows
		return true
	}
	return false
}

// retryAfter is how long callers of a database that is unavailable should wait.
const retryAfter = 5 * time.Second

// Wrap adds the operation to an error of the database. One that is unavailable becomes the platform's 503, and one
// whose commit was not answered says that the caller has to look before another try.
func Wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCommitUnknown):
		return apperr.New(apperr.Unavailable, "OUTCOME_UNKNOWN",
			"The database did not answer whether this was saved; look at the present state before you try again").
			WithCause(fmt.Errorf("%s: %w", operation, err))
	case IsUnavailable(err):
		return apperr.New(apperr.Unavailable, "DATABASE_DOWN", "The database does not answer; try again in a few seconds").
			WithRetryAfter(retryAfter).WithCause(fmt.Errorf("%s: %w", operation, err))
	default:
		return fmt.Errorf("%s: %w", operation, err)
	}
}
