package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

const numberUnknownColumn = 1054

// operatorAdvice returns advice for the operator about a permanent error, or "" for other errors.
func operatorAdvice(number uint16) string {
	switch number {
	case 1290, 1792, 1836:
		return readOnlyAdvice
	case 1146:
		return "a table is missing: run `cdc migrate`, and check that the platform's tables are in this database"
	case numberUnknownColumn:
		return "a column is missing: run `cdc migrate`, and check CDC_PHASE_OVERRIDE"
	case 1044, 1045, 1142, 1143, 1227, 1370, 1698:
		return "the database refuses the service's user: grant it SELECT on the platform's tables, all on user_meta and cdc_*"
	case 1049:
		return "the database does not exist: check CDC_DB_DATABASE"
	case 1114, 1021, 3675:
		return "the database's disk is full: free space"
	}
	return ""
}

const readOnlyAdvice = "the database is read-only: point the service at the primary, or end the maintenance"

// poisonReason returns the reason code for an error about a value of the row, or "" for other errors.
func poisonReason(number uint16) string {
	switch number {
	case 1264, 1690:
		return "out_of_range"
	case 1265, 1292, 1366, 1411, 3988:
		return "wrong_value"
	case 1406:
		return "too_long"
	case 3140, 3819, 4025: // invalid JSON; a violated CHECK on MySQL and on MariaDB
		return "wrong_json"
	case 1048, 1452:
		return "constraint"
	}
	return ""
}

// passes reports whether a server error is temporary: the server is stopping or overloaded, or a wait timed out.
func passes(number uint16) bool {
	switch number {
	case 1020,
		1040,
		1053,
		1079,
		1158,
		1159,
		1160,
		1161,
		1184,
		1203,
		1205,
		1213,
		1226,
		1317,
		1412,
		1615,
		1927,
		1969,
		2006,
		2013,
		3024,
		3572:
		return true
	}
	return false
}

// fault converts err to an *outcome.Fault or a *materialize.Poison. An unknown error is treated as permanent, for the
// operator, because it may affect more than one row.
func (s *Store) fault(ctx context.Context, err error) error {
	var classified *outcome.Fault
	var poison *materialize.Poison
	if err == nil || errors.As(err, &classified) || errors.As(err, &poison) {
		return err
	}
	var e *mysql.MySQLError
	switch {
	case errors.Is(err, driver.ErrBadConn) && s.readOnly(ctx):
		return outcome.Operator(err, readOnlyAdvice) // the driver returns ErrBadConn in place of the read-only error
	case !errors.As(err, &e):
		return outcome.Retry(err) // connection error, timeout, or a commit without a response: all may be repeated
	case e.Number == numberUnknownColumn && s.phaseChanged(ctx):
		return outcome.Retry(fmt.Errorf("the columns of user_meta changed: %w", err))
	case passes(e.Number):
		return outcome.Retry(err)
	}
	if reason := poisonReason(e.Number); reason != "" {
		return &materialize.Poison{Reason: reason, Err: withoutValue(e)}
	}
	if advice := operatorAdvice(e.Number); advice != "" {
		return outcome.Operator(err, advice)
	}
	return outcome.Operator(fmt.Errorf("database error %d", e.Number), // the text may contain values
		"this error is not known to pass: look it up and fix it; processing continues by itself")
}

func (s *Store) phaseChanged(ctx context.Context) bool {
	_, changed, err := s.phases.Check(ctx)
	return err == nil && changed
}

// readOnly reports whether the server is read-only. It returns false if the server does not respond.
func (s *Store) readOnly(ctx context.Context) bool {
	const enough = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
	defer cancel()
	var on bool
	return s.db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&on) == nil && on
}

// inColumn matches the column in the server's message, which may contain the value before it.
var inColumn = regexp.MustCompile(
	"(?:[Cc]olumn|CONSTRAINT) (?:`[^`]*`\\.`[^`]*`\\.)?[`'](?:user_meta\\.)?([a-z_]+)[`']")

// withoutValue returns a server error about a value, without that value, for logs and headers.
func withoutValue(e *mysql.MySQLError) error {
	for _, m := range inColumn.FindAllStringSubmatch(e.Message, -1) {
		if slices.ContainsFunc(columns(), func(c column) bool { return c.name == m[1] }) {
			return fmt.Errorf("database error %d: column %s refuses its value", e.Number, m[1])
		}
	}
	return fmt.Errorf("database error %d: a column refuses its value", e.Number)
}
