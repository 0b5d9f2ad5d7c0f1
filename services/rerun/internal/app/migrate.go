package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

// migrate checks the platform's tables, and creates the service's tables and the indexes of the document store. It is
// idempotent and may run in several replicas at once.
func migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	m := service.Migration{Legacy: mysql.LegacyColumns(), Indexes: mysql.LegacyIndexes(), Schemas: migrations.Schemas()}
	if err := service.Migrate(ctx, cfg.DB, m, log); err != nil || !cfg.DocumentStore {
		return err
	}
	return indexDocuments(ctx, cfg)
}

func indexDocuments(ctx context.Context, cfg Config) error {
	documents, err := mongo.Open(cfg.Mongo, nil)
	if err != nil {
		return err
	}
	defer func() { _ = mongo.Close(context.WithoutCancel(ctx), documents) }()
	if err := mongo.New(documents).EnsureIndexes(ctx); err != nil {
		return fmt.Errorf("index documents: %w", err)
	}
	return nil
}
