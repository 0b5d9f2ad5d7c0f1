package mysql

import (
	"context"
	"fmt"
)

// MySQL evaluates assignments from left to right, so updated_at is assigned last.
const upsertMapping = `INSERT INTO dictionary_mapping (lab_id, keyword, data, updated_at) VALUES (?, ?, ?, ?)
 ON DUPLICATE KEY UPDATE data = IF(VALUES(updated_at) >= updated_at, VALUES(data), data),
  updated_at = GREATEST(updated_at, VALUES(updated_at))`

// Put stores the data of a keyword unless the stored data is newer. It is idempotent.
func (s *Store) Put(ctx context.Context, labID int64, keyword string, data []byte, acceptedMs int64) error {
	if _, err := s.db.ExecContext(ctx, upsertMapping, labID, keyword, string(data), acceptedMs); err != nil {
		return away(fmt.Errorf("store a mapping: %w", err))
	}
	return nil
}
