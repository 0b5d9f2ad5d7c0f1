// Package mapping owns the jobs of /mapping/: each stores the data of one keyword for one laboratory.
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

// Store is the dictionary.
type Store interface {
	// Put stores data unless a newer one is there; it may be repeated.
	Put(ctx context.Context, labID int64, keyword string, data []byte, acceptedMs int64) error
}

// awayDelay is how long a mapping waits when the database does not answer.
const awayDelay = 10 * time.Second

// Handler writes mappings. Safe for concurrent use.
type Handler struct{ store Store }

// NewHandler makes a handler.
func NewHandler(store Store) *Handler { return &Handler{store: store} }

// Handle stores one mapping. The order of acceptance decides between two of one keyword, not the order of the jobs.
// A database that is unavailable costs no attempt.
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
