package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/batchtrace"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/deadletter"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const (
	walkEvery = time.Second
	walkChunk = 500
	lateEvery = time.Second
	// freshnessEvery is how often the group's committed offsets are read. The group commits once a second.
	freshnessEvery = time.Second
)

func (b *builder) openDatabase() (err error) {
	if b.db, err = b.Database(b.cfg.DB); err != nil {
		return err
	}
	// The schema version is not checked: with an older schema, the service runs in the migration phase.
	if err = b.CheckDatabase("relational_database", b.cfg.DB, nil, "user_meta", "cdc_freshness"); err != nil {
		return err
	}
	b.phases = phase.New(phase.Deps{Schema: mysql.NewSchema(b.db), Walk: walk{b},
		Override: phase.Phase(b.cfg.PhaseOverride), Interval: phase.DefaultInterval, Log: b.Log})
	b.rows = mysql.New(mysql.Deps{DB: b.db, Clock: b.Clock, Phases: b.phases})
	b.late = materialize.NewPostponed(b.Clock)
	b.users = materialize.NewRecomputer(
		materialize.Deps{Store: b.rows, Late: b.late, Observer: b.counters, Config: materialize.DefaultConfig()})
	b.walker = materialize.NewWalker(materialize.WalkerDeps{Walks: b.rows, Phases: b.phases, Users: b.users,
		Chunk: walkChunk, Interval: walkEvery, Log: b.Log})
	// Closers run in reverse order: after the consumer, which still adds late patients, and before the database is closed.
	b.Close("late patients", func(ctx context.Context) error { return b.late.Finish(ctx, b.users) })
	b.Loop("phase", b.phases.Run)
	b.Loop("walker", b.walker.Run)
	b.Every("late patients", lateEvery, func(ctx context.Context) error { return b.late.RunOnce(ctx, b.users) })
	return nil
}

func (b *builder) openIndex() error {
	client, err := elastic.Open(b.cfg.ES, elastic.Deps{Tracers: b.Tracers(), Roll: rand.Float64})
	if err != nil {
		return fmt.Errorf("open search index: %w", err)
	}
	b.Close("search index", func(context.Context) error { return client.Close() })
	b.index = elasticstore.New(client, b.cfg.Index)
	b.writer = indexsync.NewWriter(
		indexsync.WriterDeps{Config: b.cfg.Bulk, Index: b.index, Observer: b.counters, Clock: b.Clock, Jitter: rand.Float64})
	return nil
}

// syncer returns the sink that writes the index.
func (b *builder) syncer() *indexsync.Sink {
	return indexsync.NewSink(indexsync.Deps{
		Lookup:   b.index,
		Writer:   b.writer,
		Phases:   b.phases,
		Tables:   b.walker,
		Versions: document.RevVersions{},
		Clock:    b.Clock,
	})
}

// openConsumer starts the consumer. It stops before the stores it writes to are closed.
func (b *builder) openConsumer() error {
	producer := broker.NewProducer(b.cfg.Kafka)
	b.Close("dead letters", producer.Close)
	b.letters = &deadletter.Letters{
		Producer:   producer,
		Clock:      b.Clock,
		Records:    broker.DeadLetters,
		Connectors: broker.ConnectorDeadLetters,
		Group:      broker.GroupID,
	}
	positions := broker.NewPositions(b.cfg.Kafka)
	b.Close("positions", positions.Close)
	rows := materialize.NewSink(b.users, b.walker, b.Clock)
	beats := &heartbeat.Sink{Watermark: b.watermark(positions), Jumps: b.rows, Watch: b.rows, Lost: b.counters.Lost,
		Log: b.Log}
	b.Every("watch numbers", watchEvery, b.rows.CountUp)
	b.consumer = consume.New(consume.Deps{
		Config:      b.cfg.Consume,
		DeadLetters: b.letters,
		Observer:    b.counters,
		Traces:      batchtrace.New(b.Tracers(), b.Clock),
		Clock:       b.Clock,
		Jitter:      rand.Float64,
		Log:         b.Log,
		Sinks: map[string]consume.Sink{change.UserDetails: rows, change.Billing: rows, change.LabReportRelation: rows,
			change.UserMeta: b.syncer(), change.Heartbeat: beats},
	})
	host, err := os.Hostname() // in Kubernetes, the pod name
	if err != nil {
		return fmt.Errorf("name of this process: %w", err)
	}
	b.members = broker.NewGroup(broker.GroupDeps{Config: b.cfg.Kafka, Topics: b.cfg.Topics.Consumed(),
		Name:     fmt.Sprintf("%s-%d", host, b.cfg.Admin.AdminPort),
		Consumer: b.consumer, Lost: b.recordsLost, Positions: positions, Stamps: b.rows, Clock: b.Clock, Log: b.Log})
	b.Registry.MustRegister(&gauges{b.members, b.consumer.Status(), b.Clock, b.Clock.Now()})
	b.Loop("consumer", b.members.Run)
	return nil
}

// recordsLost starts a full resync when the consumer has to skip records that were never read.
func (b *builder) recordsLost(ctx context.Context) error {
	b.counters.Lost(broker.GroupID)
	return b.rows.Restart(ctx)
}

// watermark returns the sink that stores a heartbeat once the whole group has committed everything before it.
func (b *builder) watermark(positions *broker.Positions) *heartbeat.Watermark {
	topic := b.cfg.Topics.Topic
	w := heartbeat.NewWatermark(positions, b.rows, b.indexed, map[string][]string{
		connectors.Existing:   {topic(change.UserDetails), topic(change.Billing), topic(change.LabReportRelation)},
		connectors.Projection: {topic(change.UserMeta)},
	})
	b.Every("freshness", freshnessEvery, w.RunOnce)
	return w
}

// walk gives the phase access to the store. It breaks a cycle, because the store needs the phase.
type walk struct{ b *builder }

var _ phase.Walk = (*walk)(nil)

func (w walk) Restart(ctx context.Context) error { return w.b.rows.Restart(ctx) }
