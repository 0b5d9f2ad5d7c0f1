package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

func run(ctx context.Context, s settings.Settings, stdout io.Writer) (int, error) {
	binary, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("find this program: %w", err)
	}
	services := roster.Table()
	if !s.Pipeline {
		services = roster.WithoutPipeline(services)
	}
	err = stack.Run(
		ctx,
		stack.Config{Settings: s, Services: services, Binary: binary, Caller: os.Environ(), Out: stdout, Now: time.Now},
	)
	if errors.Is(err, stack.ErrRunning) {
		return stack.ExitRunning, fmt.Errorf(
			"%w in %s: end it with make stack-down, or set LAB_DIR and LAB_PORT_BASE for a second one",
			err,
			s.Dir,
		)
	}
	return 0, err
}

func up(ctx context.Context, s settings.Settings, stdout io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return stack.Up(ctx, s, binary, stdout)
}

func seedFile(ctx context.Context, s settings.Settings, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("seed needs one file: devstack seed fixture.json (make seed FIXTURE=fixture.json)")
	}
	target, err := seed.Stack(s.Dir)
	if err != nil {
		return err
	}
	fixture, err := seed.ReadFile(args[0])
	if err != nil {
		return err
	}
	counts, err := target.Apply(ctx, fixture)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	fmt.Fprintf(stdout, "seeded %s\n", counts)
	return nil
}
