package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/consume"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

const (
	rejoinPause = 2 * time.Second
	samplePause = time.Second
	// faultMemory is how long a fault is reported after its last occurrence: sarama repeats failing requests every few
	// seconds.
	faultMemory = 10 * time.Second
	// startPatience is how long a member may take to start reading its partitions.
	startPatience = 15 * time.Second
)

// Consumer processes claimed partitions.
type Consumer interface {
	Run(ctx context.Context, claim consume.Claim)
}

// GroupDeps are the dependencies of a Group.
type GroupDeps struct {
	Config Config
	// Name identifies the place in which this process runs, such as a pod. It is unique and survives restarts.
	Name     string
	Topics   []string
	Consumer Consumer
	// Lost durably starts a full resync. It replaces records that are never read because they were deleted or the group's
	// offsets were moved.
	Lost      func(context.Context) error
	Positions *Positions
	Stamps    Stamps
	Clock     clock.Clock
	Log       *slog.Logger
}

// Group is this process's membership in the consumer group.
type Group struct {
	GroupDeps

	fetched *fetches
	jump    bool // the next membership skips lost records; only used by Run

	mu       sync.Mutex
	member   bool           // guarded by mu
	since    time.Time      // guarded by mu; time of the last change of member
	fault    *outcome.Fault // guarded by mu; last error of the membership or of a fetch
	faultAt  time.Time      // guarded by mu
	fetches  int64          // guarded by mu
	lastPoll time.Time      // guarded by mu
	claims   int            // guarded by mu
	paused   int            // guarded by mu
}

// NewGroup returns a group; Run joins it.
func NewGroup(d GroupDeps) *Group {
	return &Group{GroupDeps: d, fetched: newFetches(), since: d.Clock.Now(), lastPoll: d.Clock.Now()}
}

// Run keeps this process in the group until ctx ends. It joins again after errors.
func (g *Group) Run(ctx context.Context) error {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	go g.sample(sampling)
	for retired := false; ctx.Err() == nil; {
		if !retired {
			if err := g.retirePredecessor(); err != nil {
				g.failed(err)
				_ = lifecycle.Pause(ctx, rejoinPause)
				continue
			}
			retired = true
		}
		lost, err := g.join(ctx)
		g.jump = false
		if lost && ctx.Err() == nil {
			err = g.makeUp(ctx)
		}
		if err != nil && ctx.Err() == nil {
			g.failed(err)
		}
		_ = lifecycle.Pause(ctx, rejoinPause)
	}
	return nil
}

// makeUp starts a full resync. Once that is durable, the next membership may skip the lost records.
func (g *Group) makeUp(ctx context.Context) error {
	if err := g.Lost(ctx); err != nil {
		return err
	}
	g.jump = true
	g.Log.Error(
		"records were deleted before they were read; this process continues behind them, and all patients are computed again")
	return nil
}

// join joins the group and returns when the membership ends. lost is true if the next records of a partition no longer
// exist.
func (g *Group) join(ctx context.Context) (lost bool, err error) {
	settings, err := g.Config.consumer(g.Name)
	if err != nil {
		return false, err
	}
	settings.MetricRegistry = g.fetched
	settings.Consumer.Group.ResetInvalidOffsets = g.jump
	group, err := sarama.NewConsumerGroup(g.Config.Brokers, g.Config.Group, settings)
	if err != nil {
		return false, fmt.Errorf("reach the brokers: %w", err)
	}
	joined, leave := context.WithCancel(ctx)
	defer leave()
	var beside sync.WaitGroup
	beside.Go(func() {
		for err := range group.Errors() {
			g.failed(err)
			if errors.Is(err, sarama.ErrOffsetOutOfRange) {
				lost = true
				leave()
			}
		}
	})
	err = group.Consume(joined, g.Topics, &member{g: g, group: group, leave: leave})
	leave()
	_ = group.Close()
	beside.Wait()
	return lost, err
}

// failed stores and logs an error of the membership or of a fetch.
func (g *Group) failed(err error) {
	fault := Classify(err)
	g.mu.Lock()
	now := g.Clock.Now()
	known := g.fault != nil && sameTrouble(g.fault.Err, fault.Err) && now.Sub(g.faultAt) < faultMemory
	g.fault, g.faultAt = fault, now
	g.mu.Unlock()
	switch {
	case known:
	case fault.Operator:
		g.Log.Error("cannot consume until someone fixes this", "error", fault.Err, "advice", fault.Advice)
	default:
		g.Log.Warn("consumer group", "error", err)
	}
}

// sameTrouble reports whether two errors have the same cause and need only one log line: a stopped broker affects many
// partitions of a topic.
func sameTrouble(a, b error) bool {
	var first, second *sarama.ConsumerError
	if errors.As(a, &first) && errors.As(b, &second) {
		return first.Err.Error() == second.Err.Error() && (first.Topic == second.Topic || !Classify(b).Operator)
	}
	return a.Error() == b.Error()
}

// sample records the time of the last fetch.
func (g *Group) sample(ctx context.Context) {
	for ctx.Err() == nil {
		g.mu.Lock()
		idle := g.member && g.claims == g.paused // nothing to fetch: no partitions are assigned, or all are paused
		if count := g.fetched.count(); count != g.fetches || idle {
			g.fetches, g.lastPoll = count, g.Clock.Now()
		}
		g.mu.Unlock()
		_ = lifecycle.Pause(ctx, samplePause)
	}
}

// State is a snapshot of the membership.
type State struct {
	Member   bool
	Since    time.Time      // time of the last change of Member
	LastPoll time.Time      // time of the last fetch that was seen; the current time while nothing can be fetched
	Claims   int            // partitions assigned to this process
	Fault    *outcome.Fault // recent fault, or nil
}

// State returns a snapshot.
func (g *Group) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := State{Member: g.member, Since: g.since, LastPoll: g.lastPoll, Claims: g.claims}
	if g.Clock.Now().Sub(g.faultAt) < faultMemory {
		state.Fault = g.fault
	}
	return state
}

// joined records whether this process is a member.
func (g *Group) joined(member bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.member, g.since = member, g.Clock.Now()
}

func (g *Group) count(claims, paused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.claims += claims
	g.paused += paused
}
