package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

const (
	rejoinPause = 2 * time.Second
	samplePause = time.Second
	// faultMemory is how long a fault counts after it was last seen: the client repeats what fails every few seconds.
	faultMemory = 10 * time.Second
)

// Consumer processes claimed partitions.
type Consumer interface {
	Run(ctx context.Context, claim consume.Claim)
}

// Group is this process's membership in the consumer group.
type Group struct {
	cfg      Config
	topics   []string
	consumer Consumer
	clock    clock.Clock
	log      *slog.Logger
	registry metrics.Registry

	positions *Positions
	look      time.Duration // between two looks for partitions without work

	mu       sync.Mutex
	member   bool           // guarded by mu
	memberID string         // guarded by mu
	since    time.Time      // guarded by mu; when member changed
	fault    *outcome.Fault // guarded by mu; why there is no membership, or why a partition cannot be read
	faultAt  time.Time      // guarded by mu
	fetches  int64          // guarded by mu
	lastPoll time.Time      // guarded by mu
	claims   int            // guarded by mu
	paused   int            // guarded by mu
}

// NewGroup returns a group that joins in Run.
func NewGroup(cfg Config, topics []string, consumer Consumer, c clock.Clock, log *slog.Logger) *Group {
	return &Group{cfg: cfg, topics: topics, consumer: consumer, clock: c, log: log, registry: metrics.NewRegistry(),
		positions: NewPositions(cfg), look: lookPause, since: c.Now(), lastPoll: c.Now()}
}

// Run keeps this process in the group until ctx ends. Brokers that are away are asked again.
func (g *Group) Run(ctx context.Context) error {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	defer func() { _ = g.positions.Close(ctx) }()
	go g.sample(sampling)
	for ctx.Err() == nil {
		if err := g.join(ctx); err != nil && ctx.Err() == nil {
			g.failed(err)
		}
		_ = lifecycle.Pause(ctx, rejoinPause)
	}
	return nil
}

// join joins, and returns when the membership ends.
func (g *Group) join(ctx context.Context) error {
	settings, err := g.cfg.consumer()
	if err != nil {
		return err
	}
	settings.MetricRegistry = g.registry
	group, err := sarama.NewConsumerGroup(g.cfg.Brokers, g.cfg.Group, settings)
	if err != nil {
		return fmt.Errorf("reach the brokers: %w", err)
	}
	var beside sync.WaitGroup
	beside.Go(func() {
		for err := range group.Errors() {
			g.failed(err)
		}
	})
	joined, leave := context.WithCancel(ctx)
	idle := false
	beside.Go(func() {
		defer leave()
		idle = g.idle(joined)
	})
	err = group.Consume(joined, g.topics, &member{g: g, group: group})
	leave()
	_ = group.Close()
	beside.Wait()
	if idle && g.cfg.InstanceID != "" {
		return g.positions.evict(ctx)
	}
	return err
}

// failed notes and logs an error of the membership or of a partition's fetches.
func (g *Group) failed(err error) {
	fault := Classify(err)
	g.mu.Lock()
	now := g.clock.Now()
	known := g.fault != nil && sameTrouble(g.fault.Err, fault.Err) && now.Sub(g.faultAt) < faultMemory
	g.fault, g.faultAt = fault, now
	g.mu.Unlock()
	switch {
	case known:
	case fault.Operator:
		g.log.Error("cannot consume until somebody mends this", "error", fault.Err, "advice", fault.Advice)
	default:
		g.log.Warn("consumer group", "error", err)
	}
}

// sameTrouble tells whether one line of log says both: a broker that goes away takes many partitions of a topic along.
func sameTrouble(a, b error) bool {
	var first, second *sarama.ConsumerError
	if errors.As(a, &first) && errors.As(b, &second) {
		return first.Err.Error() == second.Err.Error() && (first.Topic == second.Topic || !Classify(b).Operator)
	}
	return a.Error() == b.Error()
}

// sample watches the fetches: a poll has no callback.
func (g *Group) sample(ctx context.Context) {
	for ctx.Err() == nil {
		meter := metrics.GetOrRegisterMeter("consumer-fetch-rate", g.registry)
		g.mu.Lock()
		idle := g.member && g.claims == g.paused // nothing to fetch: no partition for us, or all are paused
		if count := meter.Count(); count != g.fetches || idle {
			g.fetches, g.lastPoll = count, g.clock.Now()
		}
		g.mu.Unlock()
		_ = lifecycle.Pause(ctx, samplePause)
	}
}

// State is what is known about the membership.
type State struct {
	Member   bool
	Since    time.Time      // when Member changed
	LastPoll time.Time      // when the last fetch was seen
	Claims   int            // partitions of this process
	Fault    *outcome.Fault // trouble of the last seconds, nil when there was none
}

// State returns a snapshot.
func (g *Group) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := State{Member: g.member, Since: g.since, LastPoll: g.lastPoll, Claims: g.claims}
	if g.clock.Now().Sub(g.faultAt) < faultMemory {
		state.Fault = g.fault
	}
	return state
}

// joined notes the id of this member, "" when it is none.
func (g *Group) joined(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member, g.memberID, g.since = id != "", id, g.clock.Now()
}

func (g *Group) count(claims, paused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.claims += claims
	g.paused += paused
}
