package cli

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/volume"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

func seedVolume(ctx context.Context, s settings.Settings, args []string, stderr io.Writer) error {
	var c volume.Config
	flags := flag.NewFlagSet("seed-volume", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.Users, "users", 10_000, "patients")
	flags.IntVar(&c.Labs, "labs", 5, "laboratories")
	flags.Uint64Var(&c.SeedNumber, "seed-number", 1, "equal numbers give equal rows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	target, err := seed.Stack(s.Dir)
	if err != nil {
		return err
	}
	db, err := target.OpenMySQL()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return volume.Load(ctx, db, c, stderr, time.Now)
}
