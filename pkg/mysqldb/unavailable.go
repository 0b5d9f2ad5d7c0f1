package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
)

// IsUnavailable reports whether err says that the database cannot do the work now and may do it a moment later: the
// connection broke or could not be made, the server is full or shutting down, or others hold the rows. Nothing that
// the caller sent is wrong, so the answer is 503, never 500 or 400.
//
// A commit whose outcome is unknown is not among them (ErrCommitUnknown): a caller who tries again could do the work
// twice. Neither is the end of the caller's own context.
func IsUnavailable(err error) bool {
	switch {
	case err == nil, errors.Is(err, ErrCommitUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) {
		return true
	}
	return unavailableNumber(number(err))
}

func unavailableNumber(number uint16) bool {
	switch number {
	case errTooManyConnections, errTooManyUserConnections, errUserLimit, errServerShutdown, errConnectionKilled, errReadOnly, errReadOnlyTransaction:
		return true
	case errDeadlock, errLockWaitTimeout, errRecordChanged: // InTx tried several times: too many callers want the rows
		return true
	}
	return false
}
