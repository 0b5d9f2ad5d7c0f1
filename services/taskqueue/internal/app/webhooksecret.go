package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
)

// webhookSecretVerb prints the secrets with which a receiver verifies the webhooks of a laboratory.
func (d *desk) webhookSecretVerb() cli.Verb {
	var lab int64
	var name string
	return cli.Verb{
		Name:    "webhook-secret",
		Summary: "Show the secret by which a receiver checks the webhooks of one laboratory's own tasks.",
		Details: "It is derived from TASKQUEUE_WEBHOOK_SECRET, or from the secret of a receiver's row of every laboratory, and tells nothing\n" +
			"of it. Give it to that laboratory's receivers alone. During a rotation there are several, the newest first.",
		Flags: func(f *flag.FlagSet) {
			f.Int64Var(&lab, "lab", 0, "the laboratory")
			f.StringVar(&name, "secret", "", "the secret that a row of tq_webhook_secret names; empty: TASKQUEUE_WEBHOOK_SECRET")
		},
		Run: func(context.Context, []string) error {
			if lab <= 0 {
				return errors.New("name the laboratory: -lab 12")
			}
			return d.showWebhookSecrets(lab, name)
		},
	}
}

func (d *desk) showWebhookSecrets(lab int64, name string) error {
	cfg, err := Load(d.environ)
	if err != nil {
		return err
	}
	secret := cfg.Delivery.WebhookSecret
	if name != "" {
		if secret, err = (provider.Directory{Root: os.DirFS(cfg.Delivery.ProviderSecretsDir)}).Secret(name); err != nil {
			return fmt.Errorf("TASKQUEUE_PROVIDER_SECRETS_DIR: %w", err)
		}
	}
	signer, err := webhook.NewSigner(secret.Reveal())
	if err != nil {
		return err
	}
	if !signer.Enabled() {
		return errors.New("TASKQUEUE_WEBHOOK_SECRET is empty: webhooks are not signed")
	}
	for _, verifier := range signer.ForLaboratory(lab).Verifiers() {
		if _, err := fmt.Fprintln(d.out, verifier); err != nil {
			return err
		}
	}
	return nil
}
