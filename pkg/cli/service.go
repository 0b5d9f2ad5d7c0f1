package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const migratePause = time.Second

// Service is a binary of the platform with the verbs that all services have. A nil function leaves its verb
// out.
type Service struct {
	Name    string
	Summary string
	// Serve runs the service until its context ends.
	Serve func(context.Context) error
	// Migrate creates or updates the service's own tables.
	Migrate func(context.Context) error
	// PrintConfig writes every setting; secrets are masked.
	PrintConfig func(context.Context) error
	// Leader shows which connection to the database leads each loop that runs in one replica at a time.
	Leader func(context.Context) error
	// More holds the verbs that only this service has.
	More []Verb
}

// Main runs the verb that the process's arguments name and exits the process.
func (s Service) Main() { os.Exit(s.Program().Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Program returns the command line of s: a verb for each function that is set, followed by More.
func (s Service) Program() Program {
	program := Program{Name: s.Name, Summary: s.Summary}
	add := func(name, summary string, run func(context.Context) error) {
		if run == nil {
			return
		}
		program.Verbs = append(program.Verbs, Verb{Name: name, Summary: summary,
			Run: func(ctx context.Context, _ []string) error { return run(ctx) }})
	}
	add("serve", "Run the service until SIGTERM.", s.Serve)
	if s.Migrate != nil {
		program.Verbs = append(program.Verbs, migrate(s.Migrate))
	}
	add("print-config", "Show every setting and its value; secrets are masked.", s.PrintConfig)
	add("leader", "Show which connection leads each loop, and how to end it.", s.Leader)
	program.Verbs = append(program.Verbs, s.More...)
	return program
}

// migrate retries a second after each failure, until the pauses add up to the time that --wait gives: when the database
// is installed together with the service, the platform's tables may appear after this process has started.
func migrate(run func(context.Context) error) Verb {
	var wait time.Duration
	return Verb{Name: "migrate", Summary: "Create or update the service's own tables.",
		Flags: func(f *flag.FlagSet) { f.DurationVar(&wait, "wait", 0, "retry for this `time` while it fails") },
		Run: func(ctx context.Context, _ []string) error {
			for left := wait; ; left -= migratePause {
				err := run(ctx)
				if err == nil || ctx.Err() != nil || left <= 0 {
					return err
				}
				fmt.Fprintln(os.Stderr, "migration failed, will retry:", err)
				if err := lifecycle.Pause(ctx, migratePause); err != nil {
					return err
				}
			}
		}}
}

// With adapts run for a field of Service: it loads the settings from the environment, then calls run with
// them.
func With[Config any](
	load func(environ []string) (Config, error),
	run func(context.Context, Config) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		cfg, err := load(os.Environ())
		if err != nil {
			return err
		}
		return run(ctx, cfg)
	}
}
