package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
)

// Consents reads and writes the ledger whatsapp_consent_log and its present state whatsapp_consent.
type Consents struct{ db *sql.DB }

// NewConsents makes a store over db, which stays the caller's to close.
func NewConsents(db *sql.DB) *Consents { return &Consents{db: db} }

const (
	upsertConsent = `INSERT INTO whatsapp_consent (lab_id, cache_key, type, details, updated_at) VALUES (?, ?, ?, ?, ?)
 ON DUPLICATE KEY UPDATE type = VALUES(type), details = VALUES(details), updated_at = VALUES(updated_at)`
	insertConsent = `INSERT INTO whatsapp_consent_log (lab_id, cache_key, type, recipient_hash, category, source, actor, ip, user_agent, details, created_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// Record appends a change and makes it the present state, in one transaction. The state's row is locked first, so
// that the ledger's last line of a key is its state.
func (s *Consents) Record(ctx context.Context, c consent.Change) error {
	var hash any
	if c.RecipientHash != nil {
		hash = c.RecipientHash
	}
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, upsertConsent, c.LabID, c.CacheKey, c.Type, string(c.Details), c.AtMs); err != nil {
			return fmt.Errorf("set consent: %w", err)
		}
		_, err := tx.ExecContext(ctx, insertConsent, c.LabID, c.CacheKey, c.Type, hash, clip(c.Category, 32),
			clip(c.Source, 64), clip(c.Actor, 64), clip(c.IP, 45), clip(c.UserAgent, 255), string(c.Details), c.AtMs)
		if err != nil {
			return fmt.Errorf("append to the ledger: %w", err)
		}
		return nil
	})
	return away(err)
}

// Allowed reports whether the present consent of a key in a laboratory is an opt-in; without any it is not.
func (s *Consents) Allowed(ctx context.Context, labID int64, cacheKey string) (bool, error) {
	var kind string
	err := s.db.QueryRowContext(ctx, "SELECT type FROM whatsapp_consent WHERE lab_id = ? AND cache_key = ?", labID, cacheKey).
		Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, away(fmt.Errorf("read consent: %w", err))
	}
	return consent.OptsIn(kind), nil
}
