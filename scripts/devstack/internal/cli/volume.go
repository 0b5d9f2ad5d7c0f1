package cli

import (
	"context"
	"io"

	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

func seedVolume(ctx context.Context, s settings.Settings, args []string, stdout, stderr io.Writer) error {
	return nil
}
