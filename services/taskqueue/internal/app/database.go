package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/whatsapp"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/mapping"
	"github.com/labplatform/labplatform/services/taskqueue/internal/sender"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
	copies "github.com/labplatform/labplatform/services/taskqueue/internal/store/redis"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

const (
	rowsEvery     = 15 * time.Second
	databaseEvery = 5 * time.Second
	firstRead     = 2 * time.Second // timeout of each first read at the start
)

// Migrate creates or updates the service's own tables.
func Migrate(ctx context.Context, cfg Config, log *slog.Logger) error {
	if !cfg.DatabaseEnabled {
		log.Info("TASKQUEUE_DB_ENABLED is false: nothing to migrate")
		return nil
	}
	return service.Migrate(ctx, cfg.DB, service.Migration{Schemas: migrations.Schemas()}, log)
}

// openDatabase opens the database. Jobs do not need it: without it, the queue still accepts and delivers.
func (b *builder) openDatabase() error {
	if !b.cfg.DatabaseEnabled {
		b.Log.Warn("the database is off: no archive, no consents, no dictionary mappings, no configured providers")
		return nil
	}
	db, err := b.Database(b.cfg.DB)
	b.db = mysql.New(db)
	return err
}

// useDatabase adds the parts that need the database, and reads the settings stored in it.
func (b *builder) useDatabase() error {
	if b.db == nil {
		b.metrics.DatabaseUp(true) // a database that is turned off does not count as unavailable
		b.providers.Replace(context.Background(), nil)
		return nil
	}
	b.server.Consents = consent.NewRecorder(b.db, b.Clock, b.cfg.country())
	b.server.Jobs.Archive = b.db
	b.keeper = &janitor.Archive{Queue: b.gate, Store: b.db, Observer: b.metrics,
		Clock: b.Clock, Log: b.Log, Age: time.Duration(b.cfg.Queue.ArchiveDays) * 24 * time.Hour}
	b.handlers[job.Mapping] = mapping.NewHandler(b.db)
	b.handlers[job.WhatsApp] = whatsapp.NewGate(b.db, b.handlers[job.WhatsApp])
	b.follow("provider rows", rowsEvery, func(ctx context.Context) error { return b.providers.Load(ctx, b.db) })
	senders := sender.New(b.db, copies.Copies{Client: b.client})
	b.follow("sender rows", rowsEvery, senders.RunOnce)
	b.server.Tasks.Sender = senders.Allows
	for _, c := range []job.Channel{job.SMS, job.Email, job.WhatsApp} {
		b.handlers[c] = sender.NewGate(senders, b.handlers[c])
	}
	return nil
}

// follow calls read immediately, so that the first jobs use its result, and then at the given interval.
func (b *builder) follow(what string, every time.Duration, read func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstRead)
	defer cancel()
	if err := read(ctx); err != nil {
		b.Log.Warn("not known yet: a copy of the last start serves where there is one, else jobs wait",
			"what", what, "error", err)
	}
	b.Every(what, every, read)
}

// watchDatabase updates the database's gauge, and logs when the database becomes unavailable or available.
func (b *builder) watchDatabase() {
	b.Every("database probe", databaseEvery, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, firstRead)
		defer cancel()
		err := b.NoteSchema("database", b.db.Ready(ctx))
		b.metrics.DatabaseUp(err == nil)
		// The process stays ready, because jobs are still accepted and delivered.
		if differs := (*mysqldb.SchemaError)(nil); errors.As(err, &differs) {
			b.Health.Note("database", differs.Reason())
		}
		if err != nil {
			return fmt.Errorf("the database is unavailable: jobs continue, archive, consents and mappings wait: %w", err)
		}
		return nil
	})
}
