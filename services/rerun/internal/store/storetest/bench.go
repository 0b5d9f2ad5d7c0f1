package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/labplatform/labplatform/pkg/activitylog"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Now is when the clock of a bench starts.
var Now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Bench is every use case on real engines, with a clock that tests move.
type Bench struct {
	T      testing.TB
	DB     *sql.DB
	Cache  *goredis.Client
	SQL    *mysql.Store
	Store  *mongo.Store
	Open   *openset.OpenSet
	Counts *Counts
	Hand   *Hand
	ids    atomic.Int64

	database *driver.Database
}

// Hand is a clock that a test moves.
type Hand struct{ past atomic.Int64 }

// Now implements clock.Clock.
func (h *Hand) Now() time.Time { return Now.Add(time.Duration(h.past.Load())) }

// Move lets time pass.
func (h *Hand) Move(d time.Duration) { h.past.Add(int64(d)) }

// Counts keeps what the use cases counted.
type Counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *Counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

// Of returns a count.
func (c *Counts) Of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Requested implements the Counters of the use cases, as the methods below do.
func (c *Counts) Requested(t rerun.Type) { c.add("requested "+string(t), 1) }

// Failed counts "failed <step>".
func (c *Counts) Failed(step string) { c.add("failed "+step, 1) }

// Received counts "received", and the values as "values".
func (c *Counts) Received(_ bool, n int) { c.add("received", 1); c.add("values", n) }

// Fulfilled counts "fulfilled".
func (c *Counts) Fulfilled() { c.add("fulfilled", 1) }

// Closed counts "closed".
func (c *Counts) Closed(bool) { c.add("closed", 1) }

// Swept counts by outcome.
func (c *Counts) Swept(outcome string, n int) { c.add(outcome, n) }

// NewBench returns a bench with the seeded reports.
func NewBench(t testing.TB) *Bench {
	t.Helper()
	database := mongotest.Database(t)
	b := &Bench{T: t, DB: mysqltest.New(t), Cache: redistest.Start(t).Client(), Store: mongo.New(database), database: database,
		Counts: &Counts{n: map[string]int{}}, Hand: &Hand{}}
	b.Open = openset.New(b.Cache)
	Seed(t, b.DB)
	var err error
	if b.SQL, err = mysql.New(b.DB, b.Hand); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Bench) newID() string { return fmt.Sprintf("id-%d", b.ids.Add(1)) }

// atOnce does work after a commit before the answer, so that tests see its outcome.
type atOnce struct{ counts *Counts }

// Do implements aftercommit.Queue.
func (a atOnce) Do(ctx context.Context, _ int64, name string, work func(context.Context) error) {
	if err := work(ctx); err != nil {
		a.counts.Failed(name)
	}
}

type noIndex struct{}

// SyncUser implements aftercommit.Index.
func (noIndex) SyncUser(context.Context, authn.LabScope, int64) error { return nil }

var quiet = slog.New(slog.DiscardHandler)

// Cases are the use cases of one process.
type Cases struct {
	Request *request.UseCase
	Receive *receive.UseCase
	Closing *closing.UseCase
}

// Cases returns the use cases of a process; nil lives for ever. Work after a commit is done before the answer.
func (b *Bench) Cases(m *Mortal) Cases { return b.CasesOn(m, atOnce{b.Counts}) }

// CasesOn is Cases with a queue for the work after a commit.
func (b *Bench) CasesOn(m *Mortal, queue aftercommit.Queue) Cases {
	if m == nil {
		m = &Mortal{}
	}
	documents := mortalDocuments{b.Store, m}
	after := aftercommit.New(aftercommit.Deps{
		Queue: queue, Flags: mortalFlags{b.SQL, m}, OpenSet: mortalCache{b.Open, m}, Documents: documents, Index: noIndex{},
	})
	return Cases{
		Request: request.New(request.Deps{Reports: mortalRequests{mysql.Requests{Store: b.SQL}, m}, Records: documents, AfterCommit: after,
			Clock: b.Hand, NewID: b.newID, Log: quiet, Counters: b.Counts}),
		Receive: receive.New(receive.Deps{Reports: mortalReceipts{mysql.Receipts{Store: b.SQL}, m}, Records: documents, Values: documents, AfterCommit: after,
			Clock: b.Hand, NewID: b.newID, Counters: b.Counts}),
		Closing: closing.New(closing.Deps{Reports: mortalClosings{mysql.Closings{Store: b.SQL}, m}, Documents: documents, Messages: delivery.Evaluations{},
			WakeRelay: func() {}, AfterCommit: after, Clock: b.Hand, Counters: b.Counts}),
	}
}

// Sweep lets a fresh sweeper work once, ten minutes later.
func (b *Bench) Sweep() {
	b.T.Helper()
	b.Hand.Move(10 * time.Minute)
	if err := b.Sweeper().RunOnce(b.T.Context()); err != nil {
		b.T.Fatal(err)
	}
}

// Sweeper returns a fresh sweeper.
func (b *Bench) Sweeper() *sweep.Sweeper {
	return sweep.New(sweep.Deps{Config: sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}, Leader: b.SQL, Reports: mysql.Sweeps{Store: b.SQL},
		Documents: b.Store, OpenSet: b.Open, Clock: b.Hand, Log: quiet, Counters: b.Counts})
}

// State is all that is stored about a report.
type State struct {
	Flag    rerun.Flag
	Cached  bool
	Records []rerun.Record
	Values  []rerun.Value
	Log     map[activitylog.Category][]json.RawMessage
	Present map[string]string // "profileTestId/index" → value
	Signed  bool
	Outbox  int
}

// State reads everything about a report of laboratory 12.
func (b *Bench) State(report int64) State {
	b.T.Helper()
	ctx, scope := b.T.Context(), Scope(b.T, 12)
	s := State{Log: map[activitylog.Category][]json.RawMessage{}, Present: map[string]string{}}
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	keep(b.DB.QueryRowContext(ctx, "SELECT sampleRedrawFlag, isSigned + isApproved > 0 FROM labReportRelation WHERE id = ?", report).Scan(&s.Flag, &s.Signed))
	var err error
	s.Cached, err = b.Cache.HExists(ctx, "sample_rerun_12", fmt.Sprint(report)).Result()
	keep(err)
	s.Records, err = b.Store.OfReport(ctx, scope, report)
	keep(err)
	s.Values, err = b.Store.Values(ctx, scope, report)
	keep(err)
	keep(b.rows("SELECT category, meta FROM ActivityLog WHERE labReportId = ? ORDER BY id", report, func(rows *sql.Rows) error {
		var category activitylog.Category
		var meta []byte
		err := rows.Scan(&category, &meta)
		s.Log[category] = append(s.Log[category], meta)
		return err
	}))
	keep(b.rows("SELECT profileTestId, `index`, value FROM reportValues WHERE labReportId_id = ?", report, func(rows *sql.Rows) error {
		var test, index int
		var value string
		err := rows.Scan(&test, &index, &value)
		s.Present[fmt.Sprintf("%d/%d", test, index)] = value
		return err
	}))
	keep(b.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM outbox_rerun WHERE kind = 'callout.evaluate' AND aggregate = ?", fmt.Sprintf("report:%d", report)).Scan(&s.Outbox))
	if err := errors.Join(errs...); err != nil {
		b.T.Fatal(err)
	}
	return s
}

func (b *Bench) rows(query string, report int64, each func(*sql.Rows) error) error {
	rows, err := b.DB.QueryContext(b.T.Context(), query, report)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Disown makes every document of a collection look like another program's.
func (b *Bench) Disown(collection string) {
	b.T.Helper()
	_, err := b.database.Collection(collection).UpdateMany(b.T.Context(), bson.D{}, bson.D{{Key: "$unset", Value: bson.D{{Key: "written_by", Value: ""}}}})
	if err != nil {
		b.T.Fatal(err)
	}
}
