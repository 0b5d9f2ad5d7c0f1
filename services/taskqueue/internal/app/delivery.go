package app

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app/mailboxpage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/kinds"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/email"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/simulated"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mailbox"
	copies "github.com/labplatform/labplatform/services/taskqueue/internal/store/redis"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Timeout of the shared rate counter, and how long the counter is skipped after a failure.
const (
	ratePatience = 500 * time.Millisecond
	rateRest     = 5 * time.Second
)

func (b *builder) openTargets() error {
	d := b.cfg.Delivery
	own, err := netguard.OwnAddresses()
	if err != nil {
		return err
	}
	networks, err := d.networks()
	if err != nil {
		return err
	}
	b.public = netguard.Config{
		AllowHTTP:    d.AllowHTTP,
		Ports:        d.AllowedPorts,
		AllowedHosts: d.AllowedHosts,
		Own:          own,
		IdlePerHost:  d.HostConcurrency,
	}
	internal := netguard.Config{Networks: networks, IdlePerHost: d.HostConcurrency, TLS: b.cfg.GRPC.TLS.Client()}
	if b.targets, err = webhook.NewTargets(d.InternalOrigins, b.public, internal); err != nil {
		return err
	}
	b.Close("webhook connections", func(context.Context) error {
		b.targets.Close()
		return nil
	})
	return nil
}

func (b *builder) openMailbox() error {
	if !b.cfg.OutboxEnabled() {
		return nil
	}
	b.mailbox = mailbox.NewStore(b.client, b.Clock, b.Log)
	b.AdminPage("/outbox/", mailboxpage.Handler(b.mailbox, b.Log))
	return nil
}

func (b *builder) openHandlers() error {
	d := &b.cfg.Delivery
	b.pacer = pace.New(ratelimit.NewFailover(ratelimit.FailoverConfig{
		Timeout:  ratePatience,
		Cooldown: rateRest,
		Failed: func(err error) {
			b.Log.Warn("rates are counted in this process alone until the shared count answers", "error", err)
		},
	}, ratelimit.New(b.client, "tq:rate:"), b.Clock))
	b.circuits = circuit.New(b.gate)
	webhooks, err := signer("WEBHOOK_SECRET", d.WebhookSecret)
	if err != nil {
		return err
	}
	callbacks, err := signer("CALLBACK_SECRET", d.CallbackSecret)
	if err != nil {
		return err
	}
	rates, err := d.rates()
	if err != nil {
		return err
	}
	cfg := webhook.Config{Targets: b.targets, Webhooks: webhooks, Callbacks: callbacks, Clock: b.Clock, Tokens: b.Tokens(),
		HostConcurrency: d.HostConcurrency, Pacer: b.pacer, Circuits: b.circuits, Held: b.pauses.Receiver}
	cfg.Rate = func(origin string) float64 {
		if own, ok := rates[origin]; ok {
			return own
		}
		return d.HostRate
	}
	if b.db != nil {
		cfg.Subscribers = webhook.NewSubscribers(b.db, b.secrets, copies.Copies{Client: b.client})
		b.follow("secrets of receivers", subscribersEvery, cfg.Subscribers.RunOnce)
	}
	if b.mailbox != nil {
		b.Loop("mailbox recorder", b.mailbox.Run)
		cfg.Recorder = b.mailbox
	}
	webhookSender := webhook.New(cfg)
	b.handlers = map[job.Channel]worker.Handler{job.Webhook: webhookSender, job.Callback: webhookSender}
	b.openProviders()
	return nil
}

// openProviders creates the handlers of the channels that have providers. Their messages wait until useDatabase has set
// the rows.
func (b *builder) openProviders() {
	files := b.public
	files.MaxBody = email.MaxFileBytes
	deps := provider.Deps{API: b.guarded(b.public), Files: b.guarded(files), Secrets: b.secrets, Clock: b.Clock,
		Log: b.Log}
	cfg := route.Config{Observer: metrics.NewProviders(b.Registry), Log: b.Log, Pacer: b.pacer, Circuits: b.circuits}
	var outbox route.Sender
	if b.mailbox != nil {
		outbox = simulated.New(b.mailbox, b.Clock)
		cfg.Fallback = kinds.Outbox
	}
	cfg.Factory = kinds.Factory(deps, outbox)
	b.providers = route.NewSet(cfg)
	for _, c := range route.Channels() {
		b.handlers[c] = b.providers.Handler(c)
	}
}

// guarded returns an HTTP client for addresses from rows and tasks.
func (b *builder) guarded(cfg netguard.Config) *netguard.Client {
	client := netguard.New(cfg)
	b.Close("provider connections", func(context.Context) error {
		client.Close()
		return nil
	})
	return client
}

// serves reports whether this process delivers tasks of a channel and sub-type.
func (b *builder) serves(c job.Channel, taskType int) bool {
	if slices.Contains(route.Channels(), c) {
		return b.providers.Serves(c, taskType)
	}
	return b.handlers[c] != nil
}

// paused is the reason for not delivering while an operator has paused the channel.
const paused = "paused"

// unserved returns why tasks are not delivered, or an empty string if they are.
func (b *builder) unserved(c job.Channel, taskType int) string {
	if b.pauses.Channel(c) {
		return paused
	}
	if !slices.Contains(route.Channels(), c) {
		return ""
	}
	return string(b.providers.Unserved(c, taskType))
}
