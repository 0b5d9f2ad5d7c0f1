package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
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
func (s *Store) Providers(ctx context.Context) ([]route.Row, error) {
	return list(ctx, s, "providers", selectProviders, func(r *route.Row) []any {
		return []any{&r.ID, &r.Channel, &r.TaskType, &r.CountryCode, &r.Provider, &r.Position, &r.Settings, &r.Disabled}
	})
}

// Senders lists the rules of tq_sender of all laboratories that are in force. They are settings of the deployment; the
// laboratory is part of each.
func (s *Store) Senders(ctx context.Context) ([]sender.Rule, error) {
	rules, err := list(ctx, s, "senders", selectSenders, func(r *sender.Rule) []any {
		return []any{&r.LabID, &r.Channel, &r.Sender}
	})
	if err != nil {
		return nil, err
	}
	labs, err := list(ctx, s, "laboratories", "SELECT id FROM labs LIMIT 2", func(id *int64) []any { return []any{id} })
	if mysqldb.IsNoTable(err) {
		return rules, nil // a queue without a platform
	}
	if len(labs) > 1 {
		rules = append(rules, sender.Rule{Several: true})
	}
	return rules, err
}

// Subscribers lists the secrets of tq_webhook_secret of all receivers that are in force, the newest first. They are
// settings of the deployment; the laboratory is part of each.
func (s *Store) Subscribers(ctx context.Context) ([]webhook.Subscriber, error) {
	return list(ctx, s, "webhook secrets", selectSubscribers, func(r *webhook.Subscriber) []any {
		return []any{&r.LabID, &r.Origin, &r.Secret}
	})
}

// list reads rows into the fields of one each.
func list[Row any](ctx context.Context, s *Store, what, query string, fields func(*Row) []any) (all []Row, err error) {
	err = s.each(ctx, what, query, nil, func(rows *sql.Rows) error {
		var one Row
		err := rows.Scan(fields(&one)...)
		all = append(all, one)
		return err
	})
	return all, err
}
