package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
)

// In these columns NULL and 0 both mean "all".
const (
	selectProviders = `SELECT id, channel, COALESCE(task_type, 0), COALESCE(country_code, 0), provider, position, settings, is_disabled
FROM tq_provider ORDER BY id`
	selectSenders     = "SELECT COALESCE(lab_id, 0), channel, sender FROM tq_sender WHERE is_disabled = 0 ORDER BY id"
	selectSubscribers = `SELECT COALESCE(lab_id, 0), origin, secret FROM tq_webhook_secret WHERE is_disabled = 0
ORDER BY id DESC`
)

// Providers returns all rows of tq_provider by id, including disabled ones. They apply to the whole deployment.
func (s *Store) Providers(ctx context.Context) ([]route.Row, error) {
	return list(ctx, s, "providers", selectProviders, func(r *route.Row) []any {
		return []any{&r.ID, &r.Channel, &r.TaskType, &r.CountryCode, &r.Provider, &r.Position, &r.Settings, &r.Disabled}
	})
}

// Senders returns the enabled rules of tq_sender of all laboratories, and a rule with Several if there is more than one
// laboratory.
func (s *Store) Senders(ctx context.Context) ([]sender.Rule, error) {
	rules, err := list(ctx, s, "senders", selectSenders, func(r *sender.Rule) []any {
		return []any{&r.LabID, &r.Channel, &r.Sender}
	})
	if err != nil {
		return nil, err
	}
	labs, err := list(ctx, s, "laboratories", "SELECT id FROM labs LIMIT 2", func(id *int64) []any { return []any{id} })
	if mysqldb.IsNoTable(err) {
		return rules, nil // the queue runs without a platform
	}
	if len(labs) > 1 {
		rules = append(rules, sender.Rule{Several: true})
	}
	return rules, err
}

// Subscribers returns the enabled secrets of tq_webhook_secret for all laboratories and receivers, the newest first.
func (s *Store) Subscribers(ctx context.Context) ([]webhook.Subscriber, error) {
	return list(ctx, s, "webhook secrets", selectSubscribers, func(r *webhook.Subscriber) []any {
		return []any{&r.LabID, &r.Origin, &r.Secret}
	})
}

// list reads all rows of a query, each into the fields of one Row.
func list[Row any](ctx context.Context, s *Store, what, query string, fields func(*Row) []any) (all []Row, err error) {
	err = s.each(ctx, what, query, nil, func(rows *sql.Rows) error {
		var one Row
		err := rows.Scan(fields(&one)...)
		all = append(all, one)
		return err
	})
	return all, err
}
