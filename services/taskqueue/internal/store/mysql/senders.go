package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
)

// Senders reads table tq_sender. It implements sender.Source.
type Senders struct{ db *sql.DB }

// NewSenders makes a reader.
func NewSenders(db *sql.DB) *Senders { return &Senders{db: db} }

// Senders lists the rules of all laboratories that are in force. They are settings of the deployment; the laboratory is
// part of each.
func (s *Senders) Senders(ctx context.Context) ([]sender.Rule, error) {
	found, err := s.db.QueryContext(ctx, "SELECT COALESCE(lab_id, 0), channel, sender FROM tq_sender WHERE is_disabled = 0 ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("select senders: %w", err)
	}
	defer func() { _ = found.Close() }()
	list := []sender.Rule{}
	for found.Next() {
		var one sender.Rule
		if err := found.Scan(&one.LabID, &one.Channel, &one.Sender); err != nil {
			return nil, fmt.Errorf("scan a sender: %w", err)
		}
		list = append(list, one)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read senders: %w", err)
	}
	return list, nil
}
