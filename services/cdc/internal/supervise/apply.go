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

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

const (
	applyPause = 5 * time.Second
	lookAbsent = 30 * time.Second // interval of checks for connectors missing in a new, empty runtime
)

const made = "made"

// Configurations reads and writes the configurations of the connector runtime.
type Configurations interface {
	// Configuration returns the current configuration, or connect.ErrUnknown if the connector does not exist.
	Configuration(ctx context.Context, name string) (map[string]string, error)
	// Configure creates or changes the connector.
	Configure(ctx context.Context, name string, configuration map[string]string) error
}

// Applier applies the configurations of this program version to the runtime. Several may run at once.
type Applier struct {
	Runtime Configurations
	// Wanted returns the configurations by connector. It is called for every attempt, because they depend on the database
	// server.
	Wanted func(context.Context) (map[string]map[string]string, error)
	Order  []string // order in which they are applied
	Jumps  Jumps
	Log    *slog.Logger
}

// Apply applies all configurations once: it creates missing connectors and updates those whose configuration differs.
// The runtime restarts a changed connector; a stopped one stays stopped. Apply prints one line per connector to out.
func (a *Applier) Apply(ctx context.Context, out io.Writer) error {
	_, err := a.try(ctx, slices.Clone(a.Order), out)
	return err
}

func (a *Applier) apply(ctx context.Context, name string, wanted map[string]string) (what string, err error) {
	have, err := a.Runtime.Configuration(ctx, name)
	if err != nil && !errors.Is(err, connect.ErrUnknown) {
		return "", err
	}
	changed := differences(have, wanted)
	switch {
	case err != nil:
		what = made
	case len(changed) == 0:
		return "unchanged", nil
	default:
		what = "changed " + strings.Join(changed, ", ")
	}
	if what == made { // the connector may have existed before and lost its position
		if err := a.Jumps.Jumped(ctx, name); err != nil {
			return "", err
		}
	}
	if err := a.Runtime.Configure(ctx, name, wanted); err != nil {
		return "", err
	}
	a.Log.Info("connector configured", "connector", name, "change", what)
	return what, nil
}

// try applies each configuration once. It returns the connectors that failed, with the errors.
func (a *Applier) try(ctx context.Context, names []string, out io.Writer) (left []string, err error) {
	wanted, err := a.Wanted(ctx)
	if err != nil {
		return names, err
	}
	var problems []error
	left = slices.DeleteFunc(names, func(name string) bool {
		what, err := a.apply(ctx, name, wanted[name])
		if err != nil {
			what = "failed: " + err.Error()
		}
		fmt.Fprintf(out, "%s: %s\n", name, what)
		problems = append(problems, err)
		return err == nil
	})
	return left, errors.Join(problems...)
}

// differences returns the names of settings that differ, without their values, some of which are secret. The setting
// "name", added by the runtime, is ignored.
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

// Run applies each configuration until this has succeeded once; later changes by an operator are kept. Afterwards it
// creates missing connectors again, in case the runtime loses its state. It returns nil when ctx ends.
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
		pause := applyPause
		if len(left) == 0 {
			left, err = a.absent(ctx)
		}
		if err == nil && len(left) > 0 {
			left, err = a.try(ctx, left, io.Discard)
		}
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil:
			pause, said = lookAbsent, ""
		case err.Error() != said:
			said = err.Error()
			a.Log.Warn("connectors cannot be configured yet; trying again", "every", applyPause.String(), "error", said)
		}
		timer.Reset(pause)
	}
}

// absent returns the connectors that do not exist in the runtime.
func (a *Applier) absent(ctx context.Context) (names []string, err error) {
	for _, name := range a.Order {
		_, err := a.Runtime.Configuration(ctx, name)
		switch {
		case errors.Is(err, connect.ErrUnknown):
			names = append(names, name)
		case err != nil:
			return nil, err
		}
	}
	return names, nil
}
