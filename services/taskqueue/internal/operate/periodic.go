package operate

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/periodic"
)

// PeriodicJob is a definition with the job of its last tick.
type PeriodicJob struct {
	*periodic.Definition

	Last *manage.View // nil: there was no tick yet, or nobody knows the job any more
}

// Periodic lists the periodic jobs of all owners and laboratories, by name.
func (o *Operator) Periodic(ctx context.Context) ([]PeriodicJob, error) {
	definitions, err := periodic.All(ctx, o.Queue)
	if err != nil || len(definitions) == 0 {
		return nil, err
	}
	list, ids := make([]PeriodicJob, len(definitions)), make([]string, len(definitions))
	for i, d := range definitions {
		list[i].Definition, ids[i] = d, string(d.LastJob)
	}
	views, err := o.Jobs.Info(ctx, everybody, ids)
	for i, view := range views {
		list[i].Last = view
	}
	return list, err
}
