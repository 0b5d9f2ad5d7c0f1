package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

// Migrate checks the platform's tables and creates the pipeline's own tables, the topics, and the index with its alias.
// It is idempotent and may run in several replicas at once.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	return errors.Join(migrateTables(ctx, cfg, log),
		broker.EnsureTopics(ctx, cfg.Kafka, cfg.Topics, connectors.Names(), log), migrateIndex(ctx, cfg, log))
}

func migrateTables(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.SourceColumns(), Indexes: mysql.SourceIndexes(), Schemas: migrations.Schemas()}
	return service.Migrate(ctx, cfg.DB, m, log)
}

func migrateIndex(ctx context.Context, cfg Config, log *slog.Logger) error {
	client, err := elastic.Open(cfg.ES, elastic.Deps{})
	if err != nil {
		return fmt.Errorf("open search index: %w", err)
	}
	defer func() { _ = client.Close() }()
	store := elasticstore.New(client, cfg.Index)
	name, err := store.EnsureIndex(ctx)
	if err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	if auto, err := store.AutoCreates(ctx); err == nil && auto { // skipped if the setting cannot be read
		log.Warn(
			"the cluster makes indexes by itself: a delete while the alias is missing would take its name; set action.auto_create_index to false",
			"alias", cfg.Index.Alias)
	}
	log.Info("search index is there", "index", name)
	return nil
}
