package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/webhook"
)

// Subscribers reads table tq_webhook_secret. It implements webhook.SubscriberSource.
type Subscribers struct{ db *sql.DB }

// NewSubscribers makes a reader.
func NewSubscribers(db *sql.DB) *Subscribers { return &Subscribers{db: db} }

// Subscribers lists the secrets of all receivers that are in force, the newest first. They are settings of the
// deployment; the laboratory is part of each.
func (s *Subscribers) Subscribers(ctx context.Context) ([]webhook.Subscriber, error) {
	found, err := s.db.QueryContext(ctx,
		"SELECT COALESCE(lab_id, 0), origin, secret FROM tq_webhook_secret WHERE is_disabled = 0 ORDER BY id DESC")
	if err != nil {
		return nil, fmt.Errorf("select webhook secrets: %w", err)
	}
	defer func() { _ = found.Close() }()
	list := []webhook.Subscriber{}
	for found.Next() {
		var one webhook.Subscriber
		if err := found.Scan(&one.LabID, &one.Origin, &one.Secret); err != nil {
			return nil, fmt.Errorf("scan a webhook secret: %w", err)
		}
		list = append(list, one)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read webhook secrets: %w", err)
	}
	return list, nil
}
