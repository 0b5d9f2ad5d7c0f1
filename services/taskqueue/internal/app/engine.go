package app

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func (b *builder) openEngine() error {
	settings, options := b.cfg.engine(), b.cfg.redis()
	options.PoolSize = len(job.Channels())*job.Shards + 1 // every idle pump blocks one
	bells := redis.NewUniversalClient(options)
	b.Close("bells", func(context.Context) error { return bells.Close() })
	q, err := engine.New(engine.Config{Client: b.client, Bells: bells, Settings: settings, User: b.cfg.Redis.User})
	if err != nil {
		return err
	}
	b.gate = engine.NewGate(q, engine.Profile(b.cfg.Queue.Profile), func(list []string) {
		for _, one := range list {
			b.Log.Warn("redis does not keep the durable profile, or could do better", "profile", b.cfg.Queue.Profile, "finding", one)
		}
	})
	b.pauses = operate.NewPauses(b.gate, b.Clock)
	b.bytes = quota.New(b.gate, b.cfg.Queue.LabBytes)
	b.ids = job.NewGenerator(b.Clock, rand.Reader)
	b.metrics = metrics.New(b.Registry)
	b.metrics.ArchiveLimit(settings.EndsLimit * job.Shards)
	return nil
}

func (b *builder) acceptor() *api.Acceptor {
	checks := api.Checks{Targets: b.targets, Known: b.providers.Known, Serves: b.serves, Clock: b.Clock}
	if b.senders != nil {
		checks.Sender = b.senders.Allows
	}
	return &api.Acceptor{Checks: checks, Queue: b.gate, IDs: b.ids, Observer: b.metrics, Seals: b.seals, Bytes: b.bytes}
}

func (b *builder) jobs() *api.Jobs { return jobsOf(b.gate, b.archive(), b.gate.Lease(), b.ids) }

// jobsOf are the jobs of a queue; archive is nil where there is none.
func jobsOf(q api.Managing, archive api.Archive, lease time.Duration, ids *job.Generator) *api.Jobs {
	return &api.Jobs{Queue: q, Archive: archive, Lease: lease, Clock: clock.System{},
		Callbacks: func(id job.ID, body *job.Body, r *job.Record) ([]engine.NewJob, error) {
			return worker.Callbacks(ids, id, body, r)
		}}
}
