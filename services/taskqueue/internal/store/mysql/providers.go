package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
)

// Providers reads table tq_provider. It implements route.Source.
type Providers struct{ db *sql.DB }

// NewProviders makes a reader.
func NewProviders(db *sql.DB) *Providers { return &Providers{db: db} }

// NULL and 0 both mean "every".
const selectProviders = `SELECT id, channel, COALESCE(task_type, 0), COALESCE(country_code, 0), provider, position, settings, is_disabled
FROM tq_provider ORDER BY id`

// Providers lists all rows by id, disabled ones included. They are settings of the deployment, of no laboratory.
func (p *Providers) Providers(ctx context.Context) ([]route.Row, error) {
	found, err := p.db.QueryContext(ctx, selectProviders)
	if err != nil {
		return nil, fmt.Errorf("select providers: %w", err)
	}
	defer func() { _ = found.Close() }()
	rows := []route.Row{}
	for found.Next() {
		var r route.Row
		var settings []byte
		if err := found.Scan(&r.ID, &r.Channel, &r.TaskType, &r.CountryCode, &r.Provider, &r.Position, &settings,
			&r.Disabled); err != nil {
			return nil, fmt.Errorf("scan a provider: %w", err)
		}
		r.Settings = json.RawMessage(settings)
		rows = append(rows, r)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return rows, nil
}
