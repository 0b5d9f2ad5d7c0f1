package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/rebuild"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
)

// Errors that set a non-zero exit code when differences remain.
var (
	errDiffers = errors.New("sources, user_meta and the index do not agree; --repair fixes them")
	errMending = errors.New(
		"the repair has been sent and takes some seconds to arrive in the index; see with cdc reconcile, or wait for it with --repair --wait 2m")
	errStill = errors.New(
		"sources, user_meta and the index still do not agree: is the pipeline up? See /ready and cdc connectors status")
)

func reconcileVerb(out io.Writer) cli.Verb {
	var o reconcile.Options
	return cli.Verb{
		Name:    "reconcile",
		Summary: "Prove that sources, user_meta and the index agree, laboratory by laboratory; repair what does not.",
		Details: "What changes while it is compared is read again before it counts. The last line sums up, as in\n" +
			"  12 laboratories, 200,000 patients, 0 differences\nExit 1 when something differs at the end.",
		Flags: func(f *flag.FlagSet) {
			f.Int64Var(&o.LabID, "lab", 0, "only this `laboratory`")
			f.BoolVar(&o.Repair, "repair", false, "write the right state of what differs, by patient")
			f.DurationVar(&o.Wait, "wait", 0, "wait up to this `long` until nothing differs any more, as in 2m")
		},
		Run: withStores(func(ctx context.Context, _ Config, stores *stores) error {
			if err := stores.running(ctx); err != nil {
				return err
			}
			total, err := stores.reconciler(stores.index.Live(), stores.rows).Report(ctx, o, out, clock.System{})
			if err != nil {
				return err
			}
			return verdict(o, total)
		}),
	}
}

func verdict(o reconcile.Options, total reconcile.Total) error {
	switch {
	case total.Differences == 0:
		return nil
	case !o.Repair:
		return errDiffers
	case o.Wait == 0:
		return errMending
	default:
		return errStill
	}
}

// rebuildWorkers is the number of laboratories that a rebuild fills concurrently.
const rebuildWorkers = 2

func rebuildVerb(out io.Writer) cli.Verb {
	var rollback, discard bool
	return cli.Verb{
		Name:    "rebuild",
		Summary: "Make the search index again without a moment in which searches lack anything.",
		Details: "Makes the next index, has every change written to both, fills it from user_meta, proves it, and moves the alias in one step.\n" +
			"The index before is kept. Killed at any point, it continues when it is called again.",
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&rollback, "rollback", false, "fill into the index that was kept what it missed, then return to it")
			f.BoolVar(&discard, "discard", false, "delete the index of an unfinished rebuild, or else the kept ones")
		},
		Run: withStores(func(ctx context.Context, _ Config, stores *stores) error {
			if rollback && discard {
				return fmt.Errorf("%w: --rollback or --discard, not both", cli.ErrUsage)
			}
			if err := stores.running(ctx); err != nil {
				return err
			}
			r := rebuild.New(rebuild.Deps{
				Index:   stores.index,
				Rows:    stores.rows,
				Writer:  stores.writer,
				Proof:   func(target string) rebuild.Proof { return stores.reconciler(target, reconcile.IndexOnly(stores.rows)) },
				Wait:    rebuild.DefaultWait,
				Workers: rebuildWorkers,
				Clock:   clock.System{},
				Out:     out,
			})
			return stores.lead(ctx, rebuildLock, func(ctx context.Context) error {
				switch {
				case rollback:
					return r.Rollback(ctx)
				case discard:
					return r.Discard(ctx)
				default:
					return r.Run(ctx)
				}
			})
		}),
	}
}
