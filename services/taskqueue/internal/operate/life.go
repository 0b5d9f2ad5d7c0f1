package operate

import (
	"context"
	"net/url"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Callback is who is told how a job ended: the origin of the address alone.
type Callback struct {
	When   string `json:"when"` // always, finished or failed
	Origin string `json:"origin"`
}

// Life is one job as operators see it.
type Life struct {
	View       *api.Job
	DueMs      int64 // while it waits
	DeadlineMs int64 // while it runs: the end of its lease
	ExpiresMs  int64
	Revivals   int
	Window     string // the digest of its key; empty: none
	Callbacks  []Callback
	Parent     job.ID // callbacks: whose end it tells
	Sealed     bool
	Data       string // while it is kept in Redis and is not sealed
}

// Life looks at one job.
func (o *Operator) Life(ctx context.Context, text string) (Life, error) {
	views, err := o.Jobs.Info(ctx, everybody, []string{text})
	if err != nil {
		return Life{}, unavailable(err)
	}
	if views[0] == nil {
		return Life{}, apperr.New(apperr.NotFound, "JOB_NOT_FOUND", "There is no job of this id, or it ended longer ago than jobs are kept")
	}
	life := Life{View: views[0]}
	list, err := o.Queue.Info(ctx, []job.ID{views[0].ID})
	if err != nil {
		return Life{}, unavailable(err)
	}
	life.add(list[0])
	return life, nil
}

func (l *Life) add(s engine.Snapshot) {
	if s.Place == engine.PlaceLane {
		l.DueMs = s.DueMs
	}
	if s.Place == engine.PlaceLease {
		l.DeadlineMs = s.DeadlineMs
	}
	b, err := job.DecodeBody(s.Body)
	if s.Body == nil || err != nil {
		return
	}
	l.ExpiresMs, l.Revivals, l.Parent = b.ExpiresMs, b.Nonce, b.Parent
	l.Window = b.Window(s.ID.Lane().Priority)
	l.Sealed = len(b.Sealed) > 0
	if utf8.Valid(b.Data) {
		l.Data = string(b.Data)
	}
	l.tells("always", b.Subscribe)
	l.tells("finished", b.OnSuccess)
	l.tells("failed", b.OnFailure)
	l.tells("always", b.CallbackTo)
	l.tells("always", job.DataCallback(s.ID.Lane().Channel, b.Data))
}

func (l *Life) tells(when, address string) {
	if address != "" {
		l.Callbacks = append(l.Callbacks, Callback{When: when, Origin: originOf(address)})
	}
}

// originOf is the part of an address that names no person and holds no secret.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "unreadable"
	}
	return u.Scheme + "://" + u.Host
}
