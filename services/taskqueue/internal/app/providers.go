package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/kinds"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/route"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/simulated"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
)

// ErrProvidersOut makes the command providers exit with 1.
var ErrProvidersOut = errors.New("rows of tq_provider are out")

// providersVerb checks the rows of tq_provider in the same way as the service.
func (d *desk) providersVerb() cli.Verb {
	return cli.Verb{
		Name:    "providers",
		Summary: "Check every row of tq_provider as the service would, with its secrets; exit 1 when any is out.",
		Details: "Nothing is sent, and no provider is asked. Run it where the service's settings and files of secrets are, for example in its\n" +
			"container. What is out sends nothing: its messages go to the next row that serves them, or wait.",
		Run: func(ctx context.Context, _ []string) error {
			cfg, err := Load(d.environ)
			if err != nil {
				return err
			}
			db, err := mysqldb.Open(cfg.DB, nil)
			if err != nil {
				return fmt.Errorf("open database: %w", err)
			}
			defer db.Close()
			return d.checkProviders(ctx, &cfg, mysql.New(db))
		},
	}
}

func (d *desk) checkProviders(ctx context.Context, cfg *Config, source route.Source) error {
	delivery := &cfg.Delivery
	api := netguard.New(netguard.Config{
		AllowHTTP: delivery.AllowHTTP, Ports: delivery.AllowedPorts, AllowedHosts: delivery.AllowedHosts,
	})
	defer api.Close()
	deps := provider.Deps{API: api, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)}
	if dir := delivery.ProviderSecretsDir; dir != "" {
		deps.Secrets = provider.Directory{Root: os.DirFS(dir)}
	}
	check := route.Config{Log: deps.Log}
	var outbox route.Sender
	if cfg.OutboxEnabled() {
		outbox, check.Fallback = simulated.New(nil, deps.Clock), kinds.Outbox
	}
	check.Factory = kinds.Factory(deps, outbox)
	rows, err := source.Providers(ctx)
	if err != nil {
		return fmt.Errorf("read the providers: %w", err)
	}
	return showProviders(d.out, route.Check(check, rows))
}

func showProviders(to io.Writer, rows []route.RowState) error {
	w, out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0), 0
	fmt.Fprintln(w, "ROW\tCHANNEL\tPROVIDER\tPOSITION\tTASK TYPE\tCOUNTRY\tSTATE")
	every := func(n int) string {
		if n == 0 {
			return "every"
		}
		return strconv.Itoa(n)
	}
	for _, r := range rows {
		state := "in force"
		switch {
		case r.Out != "":
			state, out = "OUT: "+r.Out, out+1
		case r.Disabled:
			state = "disabled"
		case r.ID == 0:
			state = "in force: the mailbox, because no row serves the channel"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", r.ID, r.Channel, r.Provider, r.Position, every(r.TaskType),
			every(r.CountryCode), state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if out > 0 {
		return fmt.Errorf("%w: %d", ErrProvidersOut, out)
	}
	return nil
}

// rowsOf returns the provider rows for the queue's page.
func rowsOf(set *route.Set) []operate.Provider {
	list := []operate.Provider{}
	for _, r := range set.Rows() {
		list = append(list, operate.Provider{Channel: r.Channel, Provider: r.Provider, Position: r.Position,
			Country: r.CountryCode, TaskType: r.TaskType, Out: r.Out})
	}
	return list
}
