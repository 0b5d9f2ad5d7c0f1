package outbox

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Deps holds the dependencies of a relay. Receivers maps a kind to its delivery function. Jitter returns a number from
// 0 to 1, such as rand.Float64.
type Deps struct {
	Config    Config
	DB        *sql.DB
	Table     Table
	Receivers map[string]Deliver
	Clock     clock.Clock
	Jitter    func() float64
	Log       *slog.Logger
	Metrics   *Metrics
	Tracers   trace.TracerProvider // nil turns spans off
}

// Relay delivers the rows of one table.
type Relay struct {
	d     Deps
	lanes []*lane
}

// NewRelay returns a relay. It delivers nothing until Run or RunOnce is called.
func NewRelay(d Deps) *Relay {
	r := &Relay{d: d}
	for kind, deliver := range d.Receivers {
		r.lanes = append(r.lanes, &lane{d: d, kind: kind, deliver: deliver, wake: make(chan struct{}, 1)})
		d.Metrics.start(kind)
	}
	slices.SortFunc(r.lanes, func(a, b *lane) int { return strings.Compare(a.kind, b.kind) })
	return r
}

// Wake makes Run check for due rows at once. Callers use it after the commit of an Insert. It never blocks.
func (r *Relay) Wake() {
	for _, l := range r.lanes {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// errorPause is the minimum pause after an error, so that an unavailable database is not queried, and its error logged,
// several times a second.
const errorPause = 5 * time.Second

// Run delivers until ctx ends, while this process is the leader. Errors are logged and do not end it.
func (r *Relay) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { _ = lifecycle.Every(ctx, observeEvery, r.d.Log, "outbox backlog", r.observe) })
	defer all.Wait()
	pause := r.d.Config.PollInterval
	return lifecycle.Repeat(ctx, func() time.Duration { return pause }, r.d.Log, "outbox relay",
		func(ctx context.Context) error {
			err := r.lead(ctx, r.runLanes)
			if pause = r.d.Config.PollInterval; err != nil {
				pause = max(pause, errorPause)
			}
			return err
		})
}

// RunOnce delivers the due rows of every kind once if this process becomes the leader, and returns how many it tried.
// Rows that fail are postponed; they do not cause an error here.
func (r *Relay) RunOnce(ctx context.Context) (taken int, err error) {
	err = r.lead(ctx, func(ctx context.Context, s *session) error {
		for _, l := range r.lanes {
			n, err := l.deliverDue(ctx, s)
			taken += n
			if err != nil {
				return err
			}
		}
		return nil
	})
	return taken, err
}

func (r *Relay) lead(ctx context.Context, work func(context.Context, *session) error) error {
	leader := mysqldb.NewLeader(r.d.DB, Lock(r.d.Table.service()))
	defer leader.Close(ctx)
	_, err := leader.Run(ctx, func(ctx context.Context) error {
		return work(ctx, &session{table: r.d.Table.name, leader: leader})
	})
	return err
}

// runLanes runs all lanes until ctx ends or the leader's connection is lost; the latter ends every lane, because
// another process may lead.
func (r *Relay) runLanes(ctx context.Context, s *session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(r.lanes))
	var all sync.WaitGroup
	for i, l := range r.lanes {
		all.Go(func() {
			defer cancel()
			errs[i] = lifecycle.Guard(ctx, r.d.Log, "outbox "+l.kind, func(ctx context.Context) error { return l.run(ctx, s) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// observe updates the gauges of the backlog. Every process does so, in case none leads.
func (r *Relay) observe(ctx context.Context) error {
	b, err := r.d.Table.backlog(ctx, r.d.DB)
	if err == nil {
		r.d.Metrics.show(b, r.d.Clock.Now())
	}
	return err
}
