package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

const (
	superviseEvery = 2 * time.Second
	structureEvery = 5 * time.Minute
	// watchEvery bounds the length of an unnoticed gap in a connector's captured changes.
	watchEvery = 10 * time.Second
)

func (b *builder) openSupervisor() error {
	runtime := connect.New(connect.Config{URLs: b.cfg.Connect.URLs})
	if b.cfg.Connect.Apply == applyAtStart {
		if password := b.cfg.Connect.Password.Reveal(); !strings.HasPrefix(password, "${") {
			b.Log.Warn(
				"anyone who may ask Kafka Connect sees the password of the connectors' database user",
				"advice",
				"give the workers a config provider and set CDC_CONNECTOR_DB_PASSWORD to its reference, as "+connectors.PasswordReference(
					"/secrets/connector.properties"),
			)
		}
		applier := &supervise.Applier{
			Runtime: runtime,
			Wanted:  b.cfg.connectors(b.rows),
			Order:   connectors.Names(),
			Jumps:   b.rows,
			Log:     b.Log,
		}
		b.Loop("connector configurations", applier.Run)
	}
	s := supervise.New(
		supervise.Deps{Runtime: runtime, Failures: b.letters, Jumps: b.rows, Observer: b.counters, Clock: b.Clock,
			Log: b.Log, Connectors: connectors.Names(), Unreadable: b.unreadable},
	)
	b.Every("structure of the tables", structureEvery, b.noteStructure)
	leader := b.leader(superviseLock)
	b.Every("supervisor", superviseEvery, func(ctx context.Context) error { return superviseBy(ctx, leader, s) })
	return nil
}

// unreadable returns the captured tables that the connectors cannot read.
func (b *builder) unreadable(ctx context.Context) (list []string, err error) {
	all, err := b.rows.UnreadableTables(ctx)
	for _, one := range all {
		if one.Captured {
			list = append(list, one.String())
		}
	}
	return list, err
}

// noteStructure adds the tables that the connectors cannot read to /health.
func (b *builder) noteStructure(ctx context.Context) error {
	all, err := b.rows.UnreadableTables(ctx)
	if err != nil {
		return err
	}
	var notes []string
	for _, one := range all {
		note := one.String() + ", which the connectors cannot read; it is skipped"
		if one.Captured {
			note = one.String() + ", which the connectors cannot read: change it, see cdc connectors check"
		}
		notes = append(notes, note)
	}
	b.Health.Note("connectors", strings.Join(notes, ". "))
	return nil
}

// superviseBy runs the supervisor in the leading process; the others only observe. A leader stays leader until it ends,
// because the history of restarts is kept in its memory.
func superviseBy(ctx context.Context, leader *mysqldb.Leader, s *supervise.Supervisor) error {
	led, err := leader.Run(ctx, s.RunOnce)
	if led || err != nil {
		return err
	}
	return s.Observe(ctx)
}

// connectors returns a function that builds both connectors' configurations for the database server in use.
func (c Config) connectors(rows *mysql.Store) func(context.Context) (map[string]map[string]string, error) {
	return func(ctx context.Context) (map[string]map[string]string, error) {
		server, err := rows.CheckBinlog(ctx)
		if err != nil {
			return nil, err
		}
		return c.source(server).Configurations()
	}
}

func (c Config) source(server mysqldb.Server) connectors.Source {
	return connectors.Source{
		MariaDB:          server.MariaDB,
		DatabaseHost:     c.Connect.DBHost,
		DatabasePort:     strconv.Itoa(c.Connect.DBPort),
		DatabaseUser:     c.Connect.User,
		DatabasePassword: c.Connect.Password.Reveal(),
		Database:         c.DB.Database,
		DatabaseTLS:      c.DB.TLS.Enabled,
		TopicPrefix:      c.Topics.Server(),
		Brokers:          c.Connect.Brokers,
		Security: connectors.Security{
			TLS: c.Kafka.TLS.Enabled, User: c.Kafka.User, Password: c.Kafka.Password.Reveal(), Mechanism: c.Kafka.Mechanism,
		},
		Replication: int(c.Topics.Replication),
		MinInSync:   c.Topics.MinInSync,
		HeartbeatMS: int(c.Connect.Heartbeat.Milliseconds()),
	}
}
