package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
)

const (
	sealReload       = 30 * time.Second // interval at which new keys are loaded
	subscribersEvery = 30 * time.Second
)

// openSecrets opens the directories of secrets and keys.
func (b *builder) openSecrets() error {
	if b.cfg.Delivery.ProviderSecretsDir != "" {
		root, err := b.directory("PROVIDER_SECRETS_DIR", b.cfg.Delivery.ProviderSecretsDir)
		if err != nil {
			return err
		}
		b.secrets = provider.Directory{Root: root.FS()}
	}
	if b.cfg.Delivery.SealKeysDir == "" {
		return nil
	}
	root, err := b.directory("SEAL_KEYS_DIR", b.cfg.Delivery.SealKeysDir)
	if err != nil {
		return err
	}
	if b.seals, err = seal.NewRing(root.FS()); err != nil {
		return fmt.Errorf("TASKQUEUE_SEAL_KEYS_DIR: %w", err)
	}
	b.Every("keys of payloads", sealReload, func(context.Context) error { return b.seals.Reload() })
	return nil
}

func (b *builder) directory(name, path string) (*os.Root, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("TASKQUEUE_%s: %w", name, err)
	}
	b.Close(name, func(context.Context) error { return root.Close() })
	return root, nil
}
