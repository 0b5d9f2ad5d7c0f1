package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/broker"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/deadletter"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// OperatorVerbs returns the verbs for operators; they print to out.
func OperatorVerbs(out io.Writer) []cli.Verb {
	return []cli.Verb{connectorsVerb(out), walkVerb(out), replayVerb(out), reconcileVerb(out), rebuildVerb(out),
		topicsVerb(out)}
}

// withSettings returns a run function that loads the settings.
func withSettings(run func(context.Context, Config, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		cfg, err := Load(os.Environ())
		if err != nil {
			return err
		}
		return run(ctx, cfg, args)
	}
}

// withStores returns a run function that loads the settings, opens the stores, and closes them at the end.
func withStores(run func(context.Context, Config, *stores) error) func(context.Context, []string) error {
	return withSettings(func(ctx context.Context, cfg Config, _ []string) error {
		stores, err := openStores(cfg)
		if err != nil {
			return err
		}
		defer stores.close()
		return run(ctx, cfg, stores)
	})
}

func connectorsVerb(out io.Writer) cli.Verb {
	return cli.Verb{
		Name:    "connectors",
		Summary: "Show and steer the source connectors.",
		Args:    "apply|status|check|recover|restart|stop|resume [NAME…]",
		Details: "apply    writes both configurations; a connector that has the right one is skipped\n" +
			"status   shows states, tasks and positions, and what to do about what is not up; exit 1 when something is not\n" +
			"check    names the tables whose definition the connectors cannot read; exit 1 when one of them is captured\n" +
			"recover  has all connectors start over: they read the structure of the tables, and every patient is computed again\n" +
			"restart  has connectors restarted with their tasks\n" +
			"stop     has their tasks ended, until resume; nothing reads the database once status says STOPPED and none\n" +
			"resume   has stopped or paused connectors continue where they were\n\n" +
			"NAME is " + strings.Join(connectors.Names(), " or ") + "; without one, both.",
		Run: withSettings(func(ctx context.Context, cfg Config, args []string) error { return steer(ctx, cfg, args, out) }),
	}
}

func steer(ctx context.Context, cfg Config, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: name what to do: apply, status, check, recover, restart, stop or resume", cli.ErrUsage)
	}
	action, names := args[0], args[1:]
	for _, name := range names {
		if !slices.Contains(connectors.Names(), name) {
			return fmt.Errorf("%w: no connector is called %q", cli.ErrUsage, name)
		}
	}
	runtime := connect.New(connect.Config{URLs: cfg.Connect.URLs})
	operator := &supervise.Operator{Runtime: runtime, Connectors: connectors.Names(), Out: out}
	switch {
	case action == "apply":
		return apply(ctx, cfg, runtime, names, out)
	case action == "status":
		up, err := operator.Status(ctx)
		if err == nil && !up {
			err = errNotUp
		}
		return err
	case action == "check", action == "recover":
		return structure(ctx, cfg, action, out)
	case slices.Contains(supervise.Orders(), action):
		return operator.Give(ctx, action, names)
	}
	return fmt.Errorf("%w: unknown action %q", cli.ErrUsage, action)
}

// structure checks which tables the connectors can read, or makes them read the table structures again.
func structure(ctx context.Context, cfg Config, action string, out io.Writer) error {
	stores, err := openStores(cfg)
	if err != nil {
		return err
	}
	defer stores.close()
	unreadable, err := stores.rows.UnreadableTables(ctx)
	if err != nil {
		return err
	}
	captured := 0
	for _, one := range unreadable {
		effect := "its rows are not captured, and it is skipped"
		if one.Captured {
			captured++
			effect = "CAPTURED: remove it, or the connectors stop at the next change of the table"
		}
		fmt.Fprintf(out, "%s, which the connectors cannot read: %s\n", one, effect)
	}
	if captured > 0 {
		return errUnreadable
	}
	if action == "check" {
		fmt.Fprintln(out, "the connectors can read every captured table")
		return nil
	}
	if err := stores.rows.Jump(ctx, connectors.Names()); err != nil {
		return err
	}
	fmt.Fprintln(out, "the service has all connectors start over within seconds, and then every patient computed again; see with cdc connectors"+
		" status and cdc reconcile --wait 1h")
	return nil
}

var (
	errUnreadable = errors.New("a captured table has a definition that the connectors cannot read")
	errNotUp      = errors.New("not every connector is up")
)

func apply(ctx context.Context, cfg Config, runtime *connect.Client, names []string, out io.Writer) error {
	stores, err := openStores(cfg)
	if err != nil {
		return err
	}
	defer stores.close()
	if len(names) == 0 {
		names = connectors.Names()
	}
	a := &supervise.Applier{
		Runtime: runtime,
		Wanted:  cfg.connectors(stores.rows),
		Order:   names,
		Jumps:   stores.rows,
		Log:     slog.New(slog.DiscardHandler),
	}
	return a.Apply(ctx, out)
}

func walkVerb(out io.Writer) cli.Verb {
	return cli.Verb{
		Name:    "walk",
		Summary: "Have every patient computed again from the sources, and written to the index.",
		Details: "The service does it, about 5,000 patients a second, and continues where it stood when it is restarted; called again, it starts over.\n" +
			"It finds whatever events would have said. See when it is over with cdc reconcile --wait 1h.",
		Run: withStores(func(ctx context.Context, _ Config, stores *stores) error {
			if err := stores.rows.Restart(ctx); err != nil {
				return err
			}
			fmt.Fprintln(out, "all patients are computed again by the service; see with cdc reconcile --wait 1h")
			return nil
		}),
	}
}

func replayVerb(out io.Writer) cli.Verb {
	var dry bool
	return cli.Verb{
		Name:    "replay-dlq",
		Summary: "Answer the dead letters: read the rows that they are about again and write their present state.",
		Details: "Reads every letter of " + broker.DeadLetters + " that is there at the start. The letters stay; answering them twice changes nothing.\n" +
			"A letter that names no row is printed. Fix the cause first (see the letter's header error), else the letter comes again.",
		Flags: func(f *flag.FlagSet) { f.BoolVar(&dry, "dry-run", false, "only say what would be done") },
		Run: withStores(func(ctx context.Context, cfg Config, stores *stores) error {
			r := deadletter.Replay{
				Patients:   stores.rows,
				Recomputer: materialize.Forced{Users: stores.users, Members: stores.rows},
				Batch:      walkChunk,
				DryRun:     dry,
				Read: func(ctx context.Context, visit func(change.Record, int64) error) error {
					return broker.Read(ctx, cfg.Kafka, broker.DeadLetters, visit)
				},
			}
			sum, err := r.Run(ctx, out)
			if err != nil && sum.Letters == 0 {
				return err
			}
			written := "written"
			if dry {
				written = "would be written"
			}
			fmt.Fprintf(out, "%d letters, %d patients %s, %d refused, %d letters name no row, %d are about rows that no longer exist\n",
				sum.Letters, sum.Patients, written, sum.Refused, sum.Unreadable, sum.Gone)
			if err == nil && sum.Refused > 0 {
				err = errRefused
			}
			return err
		}),
	}
}

var errRefused = errors.New(
	"the database refuses the rows of the patients above: fix their sources, then call replay-dlq again")
