package volume

import (
	"cmp"
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// Seed generates and loads rows into the stack that runs in labDir.
func Seed(ctx context.Context, labDir string, c Config, progress io.Writer) error {
	target, err := seed.Stack(labDir)
	if err != nil {
		return err
	}
	db, err := target.OpenMySQL()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return Load(ctx, db, c, progress, time.Now)
}

// Verb returns the verb that loads generated rows into the stack of LAB_DIR.
func Verb() cli.Verb {
	var c Config
	return cli.Verb{
		Name: "seed-volume", Summary: "Generates patients, bills and reports in the running stack of LAB_DIR.",
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&c.Users, "users", 10_000, "patients")
			f.IntVar(&c.Labs, "labs", 5, "laboratories")
			f.Uint64Var(&c.SeedNumber, "seed-number", 1, "equal numbers give equal rows")
		},
		Run: func(ctx context.Context, _ []string) error {
			return Seed(ctx, cmp.Or(os.Getenv("LAB_DIR"), ".lab"), c, os.Stderr)
		},
	}
}
