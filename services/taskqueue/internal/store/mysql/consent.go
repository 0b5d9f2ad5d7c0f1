package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
)

const (
	upsertConsent = `INSERT INTO whatsapp_consent (lab_id, cache_key, type, details, updated_at) VALUES (?, ?, ?, ?, ?)
 ON DUPLICATE KEY UPDATE type = VALUES(type), details = VALUES(details), updated_at = VALUES(updated_at)`
	insertConsent = `INSERT INTO whatsapp_consent_log (lab_id, cache_key, type, recipient_hash, category, source, actor, ip, user_agent, details, created_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// Record appends a change to the ledger whatsapp_consent_log and makes it the current state in whatsapp_consent, in one
// transaction. It locks the row of the state first, so that the state always equals the last line of the ledger for its
// key.
func (s *Store) Record(ctx context.Context, c consent.Change) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, upsertConsent, c.LabID, c.CacheKey, c.Type, string(c.Details), c.AtMs); err != nil {
			return fmt.Errorf("set consent: %w", err)
		}
		_, err := tx.ExecContext(ctx, insertConsent, c.LabID, c.CacheKey, c.Type, c.RecipientHash, clip(c.Category, 32),
			clip(c.Source, 64), clip(c.Actor, 64), clip(c.IP, 45), clip(c.UserAgent, 255), string(c.Details), c.AtMs)
		if err != nil {
			return fmt.Errorf("append to the ledger: %w", err)
		}
		return nil
	})
	return away(err)
}

const selectConsent = "SELECT type FROM whatsapp_consent WHERE lab_id = ? AND cache_key = ?"

// Allowed reports whether the current consent of a key in a laboratory is an opt-in. It returns false without a
// consent.
func (s *Store) Allowed(ctx context.Context, labID int64, cacheKey string) (bool, error) {
	kind := ""
	scan := func(rows *sql.Rows) error { return rows.Scan(&kind) }
	err := s.each(ctx, "consent", selectConsent, []any{labID, cacheKey}, scan)
	return err == nil && consent.OptsIn(kind), away(err)
}
