package taskqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/services/taskqueue/inprocess"
)

// engine is a job queue that is measured: ours or the peer.
type engine interface {
	// enqueue accepts jobs whose payloads begin with their numbers from first on, due now or at due(i).
	enqueue(ctx context.Context, first, count int, due func(i int) time.Time) error
	// work runs jobs until ctx ends.
	work(ctx context.Context, handle func(payload []byte)) error
	close()
}

const (
	payloadBytes = 200
	ourBatch     = 250
	ourProducers = 4
	ourSlots     = 1000
	peerClients  = 64
	retention    = 24 * time.Hour
)

func payload(number int) []byte {
	b := make([]byte, payloadBytes)
	binary.LittleEndian.PutUint64(b, uint64(number))
	return b
}

func number(payload []byte) int { return int(binary.LittleEndian.Uint64(payload)) }

// ours is the platform's engine.
type ours struct{ queue *inprocess.Queue }

func openOurs(ctx context.Context, redis string) (engine, error) {
	q, err := inprocess.Open(ctx, redis)
	if err != nil {
		return nil, err
	}
	return &ours{q}, nil
}

func (o *ours) enqueue(ctx context.Context, first, count int, due func(int) time.Time) error {
	return spread(ctx, ourProducers, first, count, ourBatch, func(ctx context.Context, from, to int) error {
		payloads := make([][]byte, 0, to-from)
		var times []int64
		for i := from; i < to; i++ {
			payloads = append(payloads, payload(i))
			if due != nil {
				times = append(times, due(i).UnixMilli())
			}
		}
		return o.queue.Enqueue(ctx, payloads, times)
	})
}

func (o *ours) work(ctx context.Context, handle func([]byte)) error {
	return o.queue.Work(ctx, ourSlots, func(p []byte) error { handle(p); return nil })
}

func (o *ours) close() { _ = o.queue.Close() }

// cell is a setting of the peer: handlers per server and servers in the process.
type cell struct{ concurrency, servers int }

func (c cell) String() string { return fmt.Sprintf("%dx%d", c.concurrency, c.servers) }

// peer is asynq with the settings that its documentation advises for speed: several servers, short checks, and the same
// retention of results as ours.
type peer struct {
	redis  asynq.RedisClientOpt
	client *asynq.Client
	cell   cell
}

func openPeer(redis string, c cell) engine {
	opt := asynq.RedisClientOpt{Addr: redis, PoolSize: 128}
	return &peer{redis: opt, client: asynq.NewClient(opt), cell: c}
}

func (p *peer) enqueue(ctx context.Context, first, count int, due func(int) time.Time) error {
	return spread(ctx, peerClients, first, count, 1, func(ctx context.Context, from, _ int) error {
		options := []asynq.Option{asynq.MaxRetry(3), asynq.Retention(retention)}
		if due != nil {
			options = append(options, asynq.ProcessAt(due(from)))
		}
		_, err := p.client.EnqueueContext(ctx, asynq.NewTask("webhook", payload(from)), options...)
		return err
	})
}

func (p *peer) work(ctx context.Context, handle func([]byte)) error {
	mux := asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		handle(t.Payload())
		return nil
	})
	servers := make([]*asynq.Server, p.cell.servers)
	for i := range servers {
		servers[i] = asynq.NewServer(p.redis, asynq.Config{
			Concurrency: p.cell.concurrency, LogLevel: asynq.FatalLevel,
			TaskCheckInterval: 10 * time.Millisecond, DelayedTaskCheckInterval: 10 * time.Millisecond,
			ShutdownTimeout: time.Second,
		})
		if err := servers[i].Start(mux); err != nil {
			return err
		}
	}
	<-ctx.Done()
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(s.Shutdown)
	}
	all.Wait()
	return nil
}

func (p *peer) close() { _ = p.client.Close() }

// spread calls send for consecutive ranges of at most size numbers from several goroutines.
func spread(
	ctx context.Context,
	goroutines, first, count, size int,
	send func(ctx context.Context, from, to int) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	next := first // guarded by mu
	take := func() (from, to int) {
		mu.Lock()
		defer mu.Unlock()
		from = next
		next = min(next+size, first+count)
		return from, next
	}
	for range goroutines {
		group.Go(func() error {
			for {
				from, to := take()
				if from == to {
					return nil
				}
				if err := send(ctx, from, to); err != nil {
					return errors.Join(fmt.Errorf("enqueue %d", from), err)
				}
			}
		})
	}
	return group.Wait()
}
