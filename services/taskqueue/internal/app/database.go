package app

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mapping"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

const (
	providersEvery = 15 * time.Second
	databaseEvery  = 5 * time.Second
	firstRead      = 2 * time.Second // how long the start waits for the rows of providers
)

// Migrate creates or updates the service's own tables.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	if !cfg.DatabaseEnabled {
		log.Info("TASKQUEUE_DB_ENABLED is false: nothing to migrate")
		return nil
	}
	return service.Migrate(ctx, cfg.DB, service.Migration{Schemas: migrations.Schemas()}, log)
}

// openDatabase opens what is not on the way of a job: without it the queue accepts and delivers.
func (b *builder) openDatabase() (err error) {
	if !b.cfg.DatabaseEnabled {
		b.Log.Warn("the database is off: no archive, no consents, no dictionary mappings, no configured providers")
		return nil
	}
	b.db, err = b.Database(b.cfg.DB)
	return err
}

// openDatabaseHandlers adds what delivers with the help of the database.
func (b *builder) openDatabaseHandlers() error {
	if b.db == nil {
		return b.providers.Replace(nil)
	}
	b.handlers[job.Mapping] = mapping.NewHandler(mysql.NewMappings(b.db))
	b.handlers[job.WhatsApp] = whatsapp.NewGate(mysql.NewConsents(b.db), b.handlers[job.WhatsApp])
	watch := route.NewWatch(mysql.NewProviders(b.db), b.providers)
	ctx, cancel := context.WithTimeout(context.Background(), firstRead)
	defer cancel()
	if err := watch.RunOnce(ctx); err != nil {
		b.Log.Warn("the providers are not known yet; messages wait until they are", "error", err)
	}
	b.Every("provider rows", providersEvery, watch.RunOnce)
	b.senders = sender.New(mysql.NewSenders(b.db), b.client)
	if err := b.senders.RunOnce(ctx); err != nil {
		b.Log.Warn("the senders of laboratories are those of the last start that could read them", "error", err)
	}
	b.Every("sender rows", providersEvery, b.senders.RunOnce)
	for _, c := range []job.Channel{job.SMS, job.Email, job.WhatsApp} {
		b.handlers[c] = sender.NewGate(b.senders, b.handlers[c])
	}
	return nil
}

// consents is nil without a database.
func (b *builder) consents() api.Consents {
	if b.db == nil {
		return nil
	}
	return consent.NewRecorder(mysql.NewConsents(b.db), b.Clock)
}

func (b *builder) archive() api.Archive {
	if b.db == nil {
		return nil
	}
	return mysql.NewArchive(b.db)
}

// keeper is nil without a database.
func (b *builder) keeper() *janitor.Archive {
	if b.db == nil {
		return nil
	}
	return &janitor.Archive{Queue: b.gate, Store: mysql.NewArchive(b.db), Observer: b.metrics,
		Clock: b.Clock, Log: b.Log, Age: time.Duration(b.cfg.Queue.ArchiveDays) * 24 * time.Hour}
}

// watchDatabase keeps the gauge of the database honest and says when it goes and comes.
func (b *builder) watchDatabase(db *sql.DB) {
	up := true
	b.Every("database probe", databaseEvery, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, firstRead)
		defer cancel()
		err := b.TellOfSchema("database", mysql.Ready(ctx, db))
		b.metrics.DatabaseUp(err == nil)
		var differs *mysqldb.SchemaError
		switch {
		case errors.As(err, &differs): // jobs go on: it is no reason to be unready
			b.Health.Note("database", differs.Reason())
		case err != nil && up:
			b.Log.WarnContext(ctx, "the database is away: jobs go on, archive, consents and mappings wait", "error", err)
		case err == nil && !up:
			b.Log.InfoContext(ctx, "the database is back")
		}
		up = err == nil
		return nil
	})
}
