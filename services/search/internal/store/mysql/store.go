// Package mysql owns the SQL of the search: one patient from userDetails and user_meta, and how far change capture has
// come. It only reads.
package mysql

import (
	"database/sql"
	"github.com/labplatform/labplatform/services/search/internal/detail"
)

// Store reads the relational database. Its methods may be called from several goroutines.
type Store struct{ db *sql.DB }

var _ detail.Reader = (*Store)(nil)

// New returns a store over db, which stays the caller's to close.
func New(db *sql.DB) *Store { return &Store{db: db} }
