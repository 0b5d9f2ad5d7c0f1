package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
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

// Now is the initial time of the clock.
var Now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Asha is a lab user.
var Asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// Fixture contains every use case with stores for one test, and a clock that tests advance.
type Fixture struct {
	Cases

	T         testing.TB
	DB        *sql.DB
	DSN       string
	Reports   *mysql.Store
	Documents *mongo.Store
	OpenSet   *openset.OpenSet
	Clock     *clocktest.Clock
	Counts    *Counts

	documents *driver.Database
	ids       atomic.Int64
}

// Cases are the use cases of one process.
type Cases struct {
	Request *request.UseCase
	Receive *receive.UseCase
	Closing *closing.UseCase
}

// Documents are the methods of the document store that the use cases need.
type Documents interface {
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error
}

// Counts holds the counts of the use cases by name.
type Counts struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu
}

func (c *Counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

// Of returns the count with a name.
func (c *Counts) Of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Requested counts "requested <type>".
func (c *Counts) Requested(t rerun.Type) { c.add("requested "+string(t), 1) }

// Failed counts "failed <step>".
func (c *Counts) Failed(step string) { c.add("failed "+step, 1) }

// Received counts "received", and the values as "values".
func (c *Counts) Received(_ bool, n int) { c.add("received", 1); c.add("values", n) }

// Fulfilled counts "fulfilled".
func (c *Counts) Fulfilled() { c.add("fulfilled", 1) }

// Closed counts "closed".
func (c *Counts) Closed(bool) { c.add("closed", 1) }

// Swept counts repairs by outcome.
func (c *Counts) Swept(outcome string, n int) { c.add(outcome, n) }

// New returns a fixture with the rows of this package.
func New(t testing.TB) *Fixture {
	t.Helper()
	f := &Fixture{T: t, Clock: clocktest.New(Now), Counts: &Counts{n: map[string]int{}}, documents: mongotest.Database(t)}
	f.DB, f.DSN = database(t)
	f.Documents, f.OpenSet = mongo.New(f.documents), openset.New(redistest.Start(t).Client())
	f.Reports = f.store(f.DB)
	f.Cases = f.On(f.Reports, f.Documents, f.AtOnce())
	return f
}

func (f *Fixture) store(db *sql.DB) *mysql.Store {
	f.T.Helper()
	store, err := mysql.New(db, f.Clock, delivery.Messages{})
	if err != nil {
		f.T.Fatal(err)
	}
	return store
}

// On returns the use cases of a process on other stores and with its own queue for tasks after a commit.
func (f *Fixture) On(reports request.Reports, documents Documents, queue aftercommit.Queue) Cases {
	after := aftercommit.New(aftercommit.Deps{
		Queue: queue, Flags: f.Reports, OpenSet: f.OpenSet, Documents: documents, Index: noIndex{},
	})
	newID := func() string { return fmt.Sprintf("id-%d", f.ids.Add(1)) }
	return Cases{
		Request: request.New(request.Deps{Reports: reports, Documents: documents, AfterCommit: after,
			Clock: f.Clock, NewID: newID, Log: quiet, Counters: f.Counts}),
		Receive: receive.New(receive.Deps{Reports: reports, Documents: documents, AfterCommit: after, WakeRelay: func() {},
			Clock: f.Clock, NewID: newID, Counters: f.Counts}),
		Closing: closing.New(closing.Deps{Reports: reports, Documents: documents, WakeRelay: func() {}, AfterCommit: after,
			Clock: f.Clock, Counters: f.Counts}),
	}
}

// AtOnce returns a queue that runs tasks before the response, so that tests see their outcome.
func (f *Fixture) AtOnce() aftercommit.Queue { return atOnce{f.Counts} }

type atOnce struct{ counts *Counts }

func (a atOnce) Do(ctx context.Context, _ int64, name string, work func(context.Context) error) {
	if err := work(ctx); err != nil {
		a.counts.Failed(name)
	}
}

type noIndex struct{}

func (noIndex) SyncUser(context.Context, authn.LabScope, int64) error { return nil }

var quiet = slog.New(slog.DiscardHandler)

// Sweeper returns a new sweeper.
func (f *Fixture) Sweeper() *sweep.Sweeper {
	return sweep.New(sweep.Deps{Config: sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}, Leader: f.Reports,
		Reports: f.Reports, Documents: f.Documents, OpenSet: f.OpenSet, Clock: f.Clock, Log: quiet, Counters: f.Counts})
}

// Sweep advances the clock by ten minutes and runs a new sweeper once.
func (f *Fixture) Sweep() {
	f.T.Helper()
	f.Clock.Advance(10 * time.Minute)
	if err := f.Sweeper().RunOnce(f.T.Context()); err != nil {
		f.T.Fatal(err)
	}
}

// Ask requests a rerun of the indices and returns its number.
func (c Cases) Ask(t testing.TB, report int64, indices ...int) (int, error) {
	t.Helper()
	r, err := c.Request.Request(t.Context(), Scope(t, 12),
		request.Command{ReportID: report, Type: rerun.Manual, Requested: indices, Actor: Asha})
	return r.Number, err
}

// Message parses a message of an instrument such as "1=13.5 3=4.2".
func Message(report int64, number int, text string) receive.Command {
	m := receive.Command{ReportID: report, Number: number, SampleID: "S-1", DeviceID: "xn", DeviceName: "XN",
		RerunType: "manual_rerun", Actor: authn.Platform}
	for field := range strings.FieldsSeq(text) {
		var r receive.Reading
		_, _ = fmt.Sscanf(field, "%d=%s", &r.Index, &r.Value)
		m.Readings = append(m.Readings, r)
	}
	return m
}

// Say sends a message of an instrument.
func (c Cases) Say(t testing.TB, m receive.Command) (receive.Result, error) {
	t.Helper()
	return c.Receive.Receive(t.Context(), Scope(t, 12), m)
}

// State holds everything that is stored about a report.
type State struct {
	Flag    rerun.Flag
	Cached  bool
	Records []rerun.Record
	Values  []rerun.Value
	Log     map[activitylog.Category][][]byte
	Present map[string]string // "profileTestId/index" → value
	Signed  bool
	// Announced is the last announcement to the callout service, as "index=value". Sent is the number of messages.
	Announced   []string
	Sent        int
	Evaluations int
}

// Received returns the received values as "number:index=value", in the order of the listing.
func (s State) Received() []string {
	texts := []string{}
	for _, v := range s.Values {
		texts = append(texts, fmt.Sprintf("%d:%d=%s", v.Number, v.Index, v.Value))
	}
	return texts
}

// State reads everything that is stored about a report of laboratory 12.
func (f *Fixture) State(report int64) State {
	f.T.Helper()
	ctx, scope := f.T.Context(), Scope(f.T, 12)
	facts, err := f.Reports.Read(ctx, scope, report, rerun.Wants{})
	f.must(err)
	s := State{Flag: facts.Report.Flag, Signed: facts.Report.Signed, Log: map[activitylog.Category][][]byte{},
		Present: map[string]string{}, Evaluations: len(f.Sent(report, "evaluate"))}
	for _, e := range f.Log(report) {
		s.Log[e.Category] = append(s.Log[e.Category], e.Meta)
	}
	for _, r := range f.Results(report) {
		s.Present[fmt.Sprintf("%d/%d", r.ProfileTestID, r.Index)] = r.Value
	}
	entries, err := f.OpenSet.Entries(ctx, scope)
	f.must(err)
	s.Cached = slices.Contains(entries, report)
	s.Records, err = f.Documents.OfReports(ctx, scope, []int64{report})
	f.must(err)
	s.Values, err = f.Documents.ValuesOfReports(ctx, scope, []int64{report})
	f.must(err)
	s.Announced, s.Sent = f.announced(report)
	return s
}

// announced decodes the messages about unconfirmed values and checks that their as_of increases.
func (f *Fixture) announced(report int64) (last []string, n int) {
	f.T.Helper()
	var asOf int64
	for _, e := range f.Sent(report, "unconfirmed") {
		var in calloutv1.SetUnconfirmedValuesRequest
		f.must(proto.Unmarshal(e.Payload, &in))
		if in.GetAsOf() <= asOf || in.GetLabId() != 12 || in.GetReportId() != report {
			f.T.Errorf("message %d has as_of %d after %d, laboratory %d, report %d; want a greater as_of, 12 and %d", n, in.GetAsOf(), asOf,
				in.GetLabId(), in.GetReportId(), report)
		}
		asOf, last, n = in.GetAsOf(), []string{}, n+1
		for _, v := range in.GetValues() {
			last = append(last, fmt.Sprintf("%d=%s", v.GetIndex(), v.GetValue()))
		}
	}
	return last, n
}

// Disown makes every record look as if another program wrote it.
func (f *Fixture) Disown() {
	f.T.Helper()
	_, err := f.documents.Collection("SampleRerun").UpdateMany(f.T.Context(), bson.D{},
		bson.D{{Key: "$unset", Value: bson.D{{Key: "written_by", Value: ""}}}})
	f.must(err)
}

// Insert stores documents without using a use case.
func (f *Fixture) Insert(r *rerun.Record, values ...rerun.Value) {
	f.T.Helper()
	f.must(f.Documents.Write(f.T.Context(), Scope(f.T, 12), rerun.Writes{Record: r, Insert: values}))
}

// Record returns a record of laboratory 12.
func Record(id string, reportID int64, kind rerun.Type, number int, active bool) *rerun.Record {
	at := Now.Add(123 * time.Millisecond) // a time that the document store keeps exactly
	return &rerun.Record{ID: id, LabID: 12, ReportID: reportID, Type: kind, Number: number, Requested: []int{3, 1},
		ParameterNames: []string{"c", "a"}, Active: active, SampleID: "S-1", CreatedBy: 77,
		CreatedByKind: "support", UpdatedBy: -1, CreatedAt: at, UpdatedAt: at}
}

func (f *Fixture) must(err error) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
}
