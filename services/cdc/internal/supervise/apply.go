package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/connect"
)

const applyPause = 5 * time.Second

// Configurations reads and writes what the runtime is configured with.
type Configurations interface {
	// Configuration returns the present one; connect.ErrUnknown when there is no such connector.
	Configuration(ctx context.Context, name string) (map[string]string, error)
	// Configure makes the connector or changes it.
	Configure(ctx context.Context, name string, configuration map[string]string) error
}

// Applier brings the connectors' configurations to what this version of the program wants. Several may work at once.
type Applier struct {
	Runtime Configurations
	// Wanted returns the configurations by connector. It is asked at every try: it depends on which database answers.
	Wanted func(context.Context) (map[string]map[string]string, error)
	Order  []string // in which they are applied
	Log    *slog.Logger
}

// Apply applies once: a connector that is absent is made, one that differs is changed (the runtime restarts it, a
// stopped one stays stopped), any other is left alone. Each connector is reported to out.
func (a *Applier) Apply(ctx context.Context, out io.Writer) error {
	wanted, err := a.Wanted(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range a.Order {
		what, err := a.apply(ctx, name, wanted[name])
		if err != nil {
			problems = append(problems, err)
			what = "failed: " + err.Error()
		}
		fmt.Fprintf(out, "%s: %s\n", name, what)
	}
	return errors.Join(problems...)
}

func (a *Applier) apply(ctx context.Context, name string, wanted map[string]string) (what string, err error) {
	have, err := a.Runtime.Configuration(ctx, name)
	if err != nil && !errors.Is(err, connect.ErrUnknown) {
		return "", err
	}
	changed := differences(have, wanted)
	switch {
	case err != nil:
		what = "made"
	case len(changed) == 0:
		return "unchanged", nil
	default:
		what = "changed " + strings.Join(changed, ", ")
	}
	if err := a.Runtime.Configure(ctx, name, wanted); err != nil {
		return "", err
	}
	a.Log.Info("connector configured", "connector", name, "change", what)
	return what, nil
}

// try applies each configuration once and returns the connectors that still lack theirs, and why.
func (a *Applier) try(ctx context.Context, names []string) (left []string, err error) {
	wanted, err := a.Wanted(ctx)
	if err != nil {
		return names, err
	}
	var problems []error
	left = slices.DeleteFunc(names, func(name string) bool {
		_, err := a.apply(ctx, name, wanted[name])
		problems = append(problems, err)
		return err == nil
	})
	return left, errors.Join(problems...)
}

// differences names the settings that differ; never their values, some are secret. The runtime adds "name".
func differences(have, wanted map[string]string) []string {
	var keys []string
	for key, value := range wanted {
		if present, known := have[key]; !known || present != value {
			keys = append(keys, key)
		}
	}
	for key := range have {
		if _, known := wanted[key]; !known && key != "name" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Run applies each configuration until that has succeeded once, and then never again: what an operator changes or
// deletes later stands. It ends with nil when all are applied, and when ctx ends.
func (a *Applier) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	left, said := slices.Clone(a.Order), ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		var err error
		if left, err = a.try(ctx, left); len(left) == 0 || ctx.Err() != nil {
			return nil
		}
		if text := err.Error(); text != said {
			said = text
			a.Log.Warn("connectors cannot be configured yet; trying again", "every", applyPause.String(), "error", text)
		}
		timer.Reset(applyPause)
	}
}
