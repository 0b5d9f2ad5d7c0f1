package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Binary is the command of a service: the verbs that all services have, with the functions of the service's app
// package.
type Binary[Settings any] struct {
	Name    string
	Summary string
	Version string
	Prefix  string // prefix of the service's environment variables
	Load    func(environ []string) (Settings, error)
	Serve   func(ctx context.Context, cfg Settings, version string, logs io.Writer) error
	// Migrate creates or updates the service's own tables; nil if it has none.
	Migrate func(ctx context.Context, cfg Settings, log *slog.Logger) error
	// Admin returns the settings of the listener with the health paths.
	Admin func(cfg Settings) httpserver.Config
	// Locks are the leader locks of the loops that run in one replica at a time, in the database of Database; nil if there
	// are none.
	Locks    []mysqldb.Lock
	Database func(cfg Settings) mysqldb.Config
	// More holds the verbs that only this service has.
	More []cli.Verb
}

// Main runs the verb that the process's arguments name and exits the process.
func (b Binary[Settings]) Main() {
	s := cli.Service{
		Name: b.Name, Summary: b.Summary, More: append([]cli.Verb{b.probe()}, b.More...),
		Serve: cli.With(b.Load, func(ctx context.Context, cfg Settings) error {
			return b.Serve(ctx, cfg, b.Version, os.Stderr)
		}),
		PrintConfig: cli.With(b.Load, func(_ context.Context, cfg Settings) error {
			if err := config.Print(os.Stdout, b.Prefix, &cfg); err != nil {
				return err
			}
			for _, danger := range config.Dangers(b.Prefix, &cfg) {
				fmt.Fprintln(os.Stdout, "warning:", danger)
			}
			return nil
		}),
	}
	if b.Migrate != nil {
		s.Migrate = cli.With(b.Load, func(ctx context.Context, cfg Settings) error {
			return b.Migrate(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		})
	}
	if b.Locks != nil {
		s.Leader = cli.With(b.Load, b.printLeaders)
	}
	s.Main()
}

func (b Binary[Settings]) printLeaders(ctx context.Context, cfg Settings) error {
	db, err := mysqldb.Open(b.Database(cfg), nil)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	return mysqldb.PrintLeaders(ctx, db, b.Locks, os.Stdout)
}
