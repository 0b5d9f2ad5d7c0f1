package receive

import (
	"context"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// maxHistory bounds what one value remembers: an instrument that alternates for ever must not grow a document
// beyond what a store takes.
const maxHistory = 100

var errHistory = apperr.New(apperr.Conflict, "TOO_MANY_CORRECTIONS",
	"A value of this rerun was corrected too often; confirm or abort the rerun first")

// values makes the documents of readings; order and names come from the report's formats.
func (r *receipt) values(ctx context.Context, number int, readings []Reading) ([]rerun.Value, error) {
	parameters, err := r.locked.Parameters(ctx)
	if err != nil {
		return nil, err
	}
	return r.valuesOf(parameters, number, readings), nil
}

func (r *receipt) valuesOf(parameters []rerun.Parameter, number int, readings []Reading) []rerun.Value {
	now := r.d.Clock.Now()
	values := make([]rerun.Value, 0, len(readings))
	for _, reading := range readings {
		v := rerun.Value{
			ID: r.d.NewID(), LabID: r.scope.LabID(), ReportID: r.command.ReportID, SampleID: r.command.SampleID,
			Value: reading.Value, Index: reading.Index, RerunType: r.command.RerunType, Number: number,
			ParameterName: reading.Name, DeviceID: r.command.DeviceID, DeviceName: r.command.DeviceName, CreatedAt: now,
		}
		if p, ok := parameterOf(parameters, reading); ok {
			v.Order = p.Order
			if v.ParameterName == "" {
				v.ParameterName = p.Name
			}
		}
		values = append(values, v)
	}
	return values
}

// parameterOf returns what a reading is about. An instrument names no test: where two tests of a profile share an
// index, the name that it sends tells which is meant, and without one the first stands for both.
func parameterOf(parameters []rerun.Parameter, reading Reading) (rerun.Parameter, bool) {
	named := slices.IndexFunc(parameters, func(p rerun.Parameter) bool {
		return p.Index == reading.Index && strings.EqualFold(p.Name, strings.TrimSpace(reading.Name))
	})
	if named >= 0 {
		return parameters[named], true
	}
	return rerun.ParameterOf(parameters, 0, reading.Index)
}

// put inserts the values. When one is stored already it compares: the same value is left alone, another one
// replaces it and keeps it in its history. known is what was stored before, nil when no one had to look.
func (r *receipt) put(
	ctx context.Context, number int, values []rerun.Value,
) (known []rerun.Value, changed int, err error) {
	err = r.d.Values.InsertValues(ctx, values)
	if !rerun.IsDuplicate(err) {
		return nil, len(values), err
	}
	if known, err = r.ofNumber(ctx, number); err != nil {
		return nil, 0, err
	}
	var missing []rerun.Value
	for _, v := range values {
		i := slices.IndexFunc(known, func(k rerun.Value) bool { return k.Index == v.Index })
		switch {
		case i < 0:
			missing = append(missing, v)
		case known[i].ID == v.ID: // inserted a moment ago, before the store refused another one
			changed++
		case !known[i].Same(v):
			if err := r.replace(ctx, known[i], v); err != nil {
				return nil, 0, err
			}
			changed++
		}
	}
	if len(missing) > 0 {
		err = r.d.Values.InsertValues(ctx, missing)
	}
	return known, changed + len(missing), err
}

func (r *receipt) replace(ctx context.Context, old, v rerun.Value) error {
	if len(old.History) >= maxHistory {
		return errHistory
	}
	return r.d.Values.ReplaceValue(ctx, r.scope, v.Replaces(old))
}

// ofNumber returns the stored values of a number.
func (r *receipt) ofNumber(ctx context.Context, number int) ([]rerun.Value, error) {
	all, err := r.d.Values.Values(ctx, r.scope, r.command.ReportID)
	if err != nil {
		return nil, err
	}
	known := []rerun.Value{}
	for _, v := range all {
		if v.Number == number {
			known = append(known, v)
		}
	}
	return known, nil
}
