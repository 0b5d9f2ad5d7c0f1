package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
)

// sealReload is how soon a new key seals.
const sealReload = 30 * time.Second

// openSeals reads the keys of payloads; a wrong key stops the start and never a running process.
func (b *builder) openSeals() error {
	if b.cfg.Delivery.SealKeysDir == "" {
		return nil
	}
	root, err := os.OpenRoot(b.cfg.Delivery.SealKeysDir)
	if err != nil {
		return fmt.Errorf("TASKQUEUE_SEAL_KEYS_DIR: %w", err)
	}
	b.Close("keys of payloads", func(context.Context) error { return root.Close() })
	if b.seals, err = seal.NewRing(root.FS()); err != nil {
		return fmt.Errorf("TASKQUEUE_SEAL_KEYS_DIR: %w", err)
	}
	b.Every("keys of payloads", sealReload, func(context.Context) error { return b.seals.Reload() })
	return nil
}
