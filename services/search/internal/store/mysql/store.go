// Package mysql owns the SQL of the search: one patient from userDetails and user_meta, and how far change capture has come. It
// only reads.
package mysql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Store reads the relational database. Its methods may be called from several goroutines.
type Store struct{ db *sql.DB }

// New returns a store over db, which stays the caller's to close.
func New(db *sql.DB) *Store { return &Store{db: db} }

// LegacyColumns are the columns of the platform's tables that the service needs.
func LegacyColumns() map[string][]string {
	return map[string][]string{
		"userDetails": {"id", "labId_id", "branchId", "orgId_id", "ccId_id", "labPatientId", "designation", "firstName", "middleName", "lastName",
			"fullName", "contact", "alternateContact", "email", "gender", "dateOfBirth", "age", "passportNo", "nationalIdentityNumber",
			"isDeleted", "updatedOn"},
	}
}

// wrap adds the operation, and tells a database that is away or overloaded from everything else.
func wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case away(err):
		return apperr.New(apperr.Unavailable, "DATABASE_DOWN", "The database does not answer. Try again in a moment.").
			WithRetryAfter(retryAfter).WithCause(fmt.Errorf("%s: %w", operation, err))
	}
	return fmt.Errorf("%s: %w", operation, err)
}

const retryAfter = 5 * time.Second

func away(err error) bool {
	var dial *net.OpError
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.As(err, &dial) {
		return true
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 1040, 1053, 1203, 1226, 1927, 2006, 2013: // too many connections, shutdown, killed
		return true
	}
	return false
}
