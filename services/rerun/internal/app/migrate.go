package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mongodb"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

// Migrate checks the platform's tables, creates the service's own, and the indexes of the document store. It may
// be repeated and may run in several replicas at once.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	db, err := mysqldb.Open(cfg.DB, nil)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	if err := mysqldb.RequireColumns(ctx, db, mysql.LegacyColumns()); err != nil {
		return fmt.Errorf("check tables: %w", err)
	}
	if err := mysqldb.Migrate(ctx, db, Name, migrations.Files, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	store, err := mysql.New(db, clock.System{})
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if err := store.Ready(ctx); err != nil || !cfg.DocumentStore {
		return err
	}
	return indexDocuments(ctx, cfg)
}

func indexDocuments(ctx context.Context, cfg Config) error {
	documents, err := mongodb.Open(cfg.Mongo)
	if err != nil {
		return err
	}
	defer func() { _ = mongodb.Close(context.WithoutCancel(ctx), documents) }()
	if err := mongo.New(documents).EnsureIndexes(ctx); err != nil {
		return fmt.Errorf("index documents: %w", err)
	}
	return nil
}
