// Package mysql reads the tables for the search: one patient from userDetails and user_meta, the rows with a number,
// and the progress of change capture. It only reads.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/search/internal/detail"
)

// Store reads the relational database. Its methods may be called from several goroutines.
type Store struct{ db *sql.DB }

var _ detail.Reader = (*Store)(nil)

// New returns a store. The caller closes db.
func New(db *sql.DB) *Store { return &Store{db: db} }

// CompleteTo returns the time up to which all changes can be found, as stored by change capture; zero if unknown.
func (s *Store) CompleteTo(ctx context.Context) (time.Time, error) {
	var millis int64
	err := s.db.QueryRowContext(ctx, "SELECT complete_at FROM cdc_freshness WHERE id = 1").Scan(&millis)
	switch {
	case mysqldb.IsNoTable(err):
		return time.Time{}, errors.New("table cdc_freshness is missing: run `cdc migrate`")
	case errors.Is(err, sql.ErrNoRows), err == nil && millis == 0:
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, mysqldb.Wrap("read freshness", err)
	}
	return time.UnixMilli(millis).UTC(), nil
}
