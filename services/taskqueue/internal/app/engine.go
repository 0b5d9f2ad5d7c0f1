package app

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// bellBuffer is the size in bytes of the read and the write buffer of a connection that waits for wake-ups.
const bellBuffer = 512

func (b *builder) openEngine() error {
	b.metrics = metrics.New(b.Registry)
	settings, options := b.cfg.engine(), b.cfg.redis()
	options.PoolSize = len(job.Channels())*job.Shards + 1 // each idle pump occupies one connection
	options.ReadBufferSize, options.WriteBufferSize = bellBuffer, bellBuffer
	bells := redis.NewUniversalClient(options)
	b.Close("bells", func(context.Context) error { return bells.Close() })
	q := engine.New(engine.Config{Client: b.client, Bells: bells, Settings: settings, User: b.cfg.Redis.User})
	b.gate = engine.NewGate(q, b.cfg.Queue.Profile, func(list []string) {
		for _, one := range list {
			b.Log.Warn("redis does not keep the durable profile, or could do better", "profile", b.cfg.Queue.Profile, "finding", one)
		}
	})
	b.redisTime = &engine.Clock{System: b.Clock}
	b.follow("Redis's clock", clockEvery, func(ctx context.Context) error {
		err := b.redisTime.Measure(ctx, b.gate)
		b.metrics.Skew(b.redisTime.Ahead())
		return err
	})
	b.pauses = operate.NewPauses(b.gate)
	b.follow("pauses", pausesEvery, b.pauses.RunOnce)
	b.bytes = quota.New(b.gate, b.cfg.Queue.LabBytes)
	b.ids = job.NewGenerator(b.Clock)
	b.metrics.ArchiveLimit(settings.EndsLimit * job.Shards)
	return nil
}
