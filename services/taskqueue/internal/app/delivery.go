package app

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/rendered"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/outbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func (b *builder) openTargets() error {
	d := b.cfg.Delivery
	own, err := netguard.OwnAddresses()
	if err != nil {
		return err //nolint:wrapcheck // says what it lists
	}
	networks, err := d.networks()
	if err != nil {
		return err
	}
	public := netguard.Config{AllowHTTP: d.AllowHTTP, Ports: d.AllowedPorts, AllowedHosts: d.AllowedHosts, Own: own, IdlePerHost: d.HostConcurrency}
	internal := netguard.Config{Networks: networks, IdlePerHost: d.HostConcurrency}
	if b.targets, err = webhook.NewTargets(d.InternalOrigins, public, internal); err != nil {
		return err //nolint:wrapcheck // names the origin
	}
	b.group.Close("webhook connections", func(context.Context) error {
		b.targets.Close()
		return nil
	})
	return nil
}

func (b *builder) openOutbox() error {
	if !b.cfg.OutboxEnabled() {
		b.log.Warn("the outbox is off: SMS, email, push and WhatsApp tasks are refused, they have no provider")
		return nil
	}
	b.store = outbox.NewStore(b.client, b.clock)
	b.recorder = outbox.NewRecorder(b.store, b.log)
	return nil
}

func (b *builder) openHandlers() error {
	webhooks, err := webhook.NewSigner(b.cfg.Delivery.WebhookSecret.Reveal())
	if err != nil {
		return fmt.Errorf("webhook secret: %w", err)
	}
	callbacks, err := webhook.NewSigner(b.cfg.Delivery.CallbackSecret.Reveal())
	if err != nil {
		return fmt.Errorf("callback secret: %w", err)
	}
	cfg := webhook.Config{Targets: b.targets, Webhooks: webhooks, Callbacks: callbacks, Clock: b.clock,
		Tokens: authn.NewServiceTokens(b.cfg.Auth.ServiceTokenSecret, service, b.clock), HostConcurrency: b.cfg.Delivery.HostConcurrency}
	if b.recorder != nil {
		cfg.Recorder = b.recorder
	}
	sender := webhook.New(cfg)
	b.handlers = map[job.Channel]worker.Handler{job.Webhook: sender, job.Callback: sender}
	if b.store != nil {
		provider := rendered.New(b.store, b.clock)
		for _, c := range []job.Channel{job.SMS, job.Email, job.Push, job.WhatsApp} {
			b.handlers[c] = provider
		}
	}
	return nil
}
