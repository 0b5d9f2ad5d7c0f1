package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
)

// NULL and 0 both mean "every".
const (
	selectProviders = `SELECT id, channel, COALESCE(task_type, 0), COALESCE(country_code, 0), provider, position, settings, is_disabled
FROM tq_provider ORDER BY id`
	selectSenders     = "SELECT COALESCE(lab_id, 0), channel, sender FROM tq_sender WHERE is_disabled = 0 ORDER BY id"
	selectSubscribers = `SELECT COALESCE(lab_id, 0), origin, secret FROM tq_webhook_secret WHERE is_disabled = 0
ORDER BY id DESC`
)

// Providers lists all rows of tq_provider by id, disabled ones included. They are settings of the deployment, of no
// laboratory.
func (s *Store) Providers(ctx context.Context) (list []route.Row, err error) {
	err = s.each(ctx, "providers", selectProviders, nil, func(rows *sql.Rows) error {
		var r route.Row
		err := rows.Scan(&r.ID, &r.Channel, &r.TaskType, &r.CountryCode, &r.Provider, &r.Position, &r.Settings, &r.Disabled)
		list = append(list, r)
		return err
	})
	return list, err
}

// Senders lists the rules of tq_sender of all laboratories that are in force. They are settings of the deployment; the
// laboratory is part of each.
func (s *Store) Senders(ctx context.Context) (list []sender.Rule, err error) {
	err = s.each(ctx, "senders", selectSenders, nil, func(rows *sql.Rows) error {
		var r sender.Rule
		err := rows.Scan(&r.LabID, &r.Channel, &r.Sender)
		list = append(list, r)
		return err
	})
	return list, err
}

// Subscribers lists the secrets of tq_webhook_secret of all receivers that are in force, the newest first. They are
// settings of the deployment; the laboratory is part of each.
func (s *Store) Subscribers(ctx context.Context) (list []webhook.Subscriber, err error) {
	err = s.each(ctx, "webhook secrets", selectSubscribers, nil, func(rows *sql.Rows) error {
		var r webhook.Subscriber
		err := rows.Scan(&r.LabID, &r.Origin, &r.Secret)
		list = append(list, r)
		return err
	})
	return list, err
}
