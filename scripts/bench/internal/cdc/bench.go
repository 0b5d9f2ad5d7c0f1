package cdc

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	"github.com/labplatform/labplatform/scripts/devstack/volume"
)

// connections is the maximum number of concurrent requests of the peer to each engine: more than its 24 partitions.
const connections = 32

type bench struct {
	report  *report.Report
	sizes   sizes
	sandbox *sandbox.Sandbox

	db     *sql.DB
	index  *index
	broker *broker

	expected oracletest.Documents // the documents that follow from the tables
	events   int64                // number of events in the topics
}

func (b *bench) open() error {
	settings, err := mysql.ParseDSN(b.sandbox.Endpoints.MySQLDSN)
	if err != nil {
		return err
	}
	settings.ParseTime, settings.Loc, settings.InterpolateParams = true, time.UTC, true
	settings.Params = map[string]string{"time_zone": "'+00:00'"}
	connector, err := mysql.NewConnector(settings)
	if err != nil {
		return err
	}
	b.db = sql.OpenDB(connector)
	b.db.SetMaxOpenConns(connections)
	b.db.SetMaxIdleConns(connections)
	b.index = &index{base: b.sandbox.Endpoints.Elasticsearch, client: &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
	b.broker, err = openBroker(b.sandbox.Endpoints)
	return err
}

func (b *bench) close() {
	_ = b.db.Close()
	_ = b.broker.close()
}

// prepare writes the patients and waits until both connectors and the consumer have brought all of them into the index.
func (b *bench) prepare(ctx context.Context) error {
	begin := time.Now()
	patients := volume.Config{Users: b.sizes.patients, Labs: laboratories, SeedNumber: 1}
	if err := volume.Seed(ctx, b.sandbox.Dir, patients, io.Discard); err != nil {
		return err
	}
	b.report.Progress(
		"%d patients are written after %.1f s; the connectors carry them",
		b.sizes.patients,
		time.Since(begin).Seconds(),
	)
	limit := 5 * time.Minute
	if err := await(
		ctx,
		"the way of all patients into the index",
		limit,
		func() (bool, error) { return b.settled(ctx) },
	); err != nil {
		return err
	}
	b.report.Progress("all are in the index after %.1f s", time.Since(begin).Seconds())
	return nil
}

// settled reports whether every row of the tables is in its topic and every event has been consumed.
func (b *bench) settled(ctx context.Context) (bool, error) {
	counts, err := b.broker.counts()
	if err != nil {
		return false, err
	}
	for _, table := range []string{"userDetails", "billing", "labReportRelation"} {
		var rows int64
		if err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil {
			return false, err
		}
		if counts[table] < rows {
			return false, fmt.Errorf("%d of %d rows of %s are in the topic", counts[table], rows, table)
		}
	}
	if waiting, err := b.broker.waiting(group); err != nil || waiting > 0 {
		return false, errors.Join(err, fmt.Errorf("%d events wait", waiting))
	}
	documents, err := b.index.count(ctx)
	return documents == b.sizes.patients, errors.Join(
		err,
		fmt.Errorf("%d of %d patients are in the index", documents, b.sizes.patients),
	)
}

// rest stops the connectors, so that no event is added, and computes the expected documents from the tables.
func (b *bench) rest(ctx context.Context) error {
	if err := await(ctx, "the end of the backlog", time.Minute, func() (bool, error) {
		waiting, err := b.broker.waiting(group)
		return waiting == 0, err
	}); err != nil {
		return err
	}
	for _, name := range []string{"cdc", "connector"} {
		if err := b.sandbox.Stop(name); err != nil {
			return err
		}
	}
	counts, err := b.broker.counts()
	if err != nil {
		return err
	}
	for _, n := range counts {
		b.events += n
	}
	b.report.Progress("%d events stand in the topics: %v", b.events, counts)
	b.report.Correct("events", b.events)
	b.expected, err = oracletest.Expected(ctx, b.db)
	return err
}
