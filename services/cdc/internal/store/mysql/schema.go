package mysql

import (
	"context"
	"database/sql"
)

// Schema reads the columns of user_meta. It implements phase.Schema.
type Schema struct{ db *sql.DB }

// NewSchema returns a Schema of the pool's database.
func NewSchema(db *sql.DB) Schema { return Schema{db} }

// HasFullName reports whether user_meta has the column that ends the migration phase.
func (s Schema) HasFullName(ctx context.Context) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'user_meta' AND COLUMN_NAME = 'full_name'").Scan(&n)
	return n > 0, wrap("read schema", err)
}
