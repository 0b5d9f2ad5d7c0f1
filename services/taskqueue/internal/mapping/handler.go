// Package mapping runs the jobs of /mapping/. Each job stores the data of one keyword of one laboratory.
package mapping

import (
	"context"
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Store keeps the mappings.
type Store interface {
	// Put stores data unless newer data is stored already. It is idempotent.
	Put(ctx context.Context, labID int64, keyword string, data []byte, acceptedMs int64) error
}

// awayDelay is how long a mapping waits for a database that does not respond.
const awayDelay = 10 * time.Second

// Handler writes mappings. It is safe for concurrent use.
type Handler struct{ store Store }

// NewHandler returns a handler that writes to store.
func NewHandler(store Store) *Handler { return &Handler{store: store} }

// Handle stores one mapping. If a keyword has two mappings, the one accepted later is kept, regardless of the order of
// the jobs. An unavailable database does not count as an attempt.
func (h *Handler) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	var m task.Mapping
	if err := json.Unmarshal(d.Body.Data, &m); err != nil {
		return job.Result{}, job.Permanent("bad_payload", "The stored task cannot be read").WithCause(err)
	}
	err := h.store.Put(ctx, d.Body.LabID, m.Keyword, m.Data, d.Body.CreatedMs+m.Position)
	switch {
	case err == nil:
		return job.Result{Sent: true}, nil
	case apperr.Is(err, apperr.Unavailable):
		return job.Result{}, job.Postpone("database_away", awayDelay).WithCause(err)
	default:
		return job.Result{}, job.Retryable("database", "The database refused the mapping").WithCause(err)
	}
}
