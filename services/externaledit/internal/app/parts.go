package app

import (
	"time"

	"github.com/google/uuid"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/limit"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

func newEditor(s *service.Service, cfg Config, p parts, relay *outbox.Relay) *editing.UseCase {
	return editing.New(editing.Deps{
		Reports: mysql.Editing{Store: p.reports}, Files: p.files, Tokens: p.tokens, Logins: p.logins, Clock: s.Clock,
		Lifetime: cfg.lifetime(), NewID: uuid.NewString, WakeRelay: relay.Wake, Counters: p.counters,
		Copier: upload.Copier{Files: p.files.Transient()}, LinkFor: seconds(cfg.DownloadLinkSeconds),
	})
}

// Maximum wait for the shared rate limit, and how long the shared limit is skipped after a failure.
const (
	limitPatience = 500 * time.Millisecond
	limitRest     = time.Second
)

func newServer(s *service.Service, cfg Config, p parts, relay *outbox.Relay, editor *editing.UseCase) *grpcapi.Server {
	limits := limit.New(ratelimit.NewFailover(ratelimit.FailoverConfig{
		Timeout: limitPatience, Cooldown: limitRest,
		Failed: func(err error) { s.Log.Warn("rate limits are kept by this process alone", "error", err) },
	}, ratelimit.New(p.cache, "externaledit:rate:"), s.Clock))
	return grpcapi.New(grpcapi.Deps{
		Editor: editor,
		Uploader: upload.New(upload.Deps{
			Reports: mysql.Uploads{Store: p.reports}, Files: p.files, Limits: limits, Logins: p.logins, Clock: s.Clock,
			Lifetime: cfg.lifetime(), NewID: newID, WakeRelay: relay.Wake, Counters: p.counters,
		}),
		Historian: history.New(history.Deps{
			Reports: mysql.History{Store: p.reports}, Logins: p.logins, Clock: s.Clock, WakeRelay: relay.Wake,
			Counters: p.counters,
		}),
		Watcher: watch.New(watch.Deps{
			Reports: p.reports, Log: p.channels, Gauge: p.counters, MaxAge: cfg.Live.MaxAge(),
		}),
		Holds: p.reports, Linker: p.files, Limits: limits, Logins: p.logins, Observer: p.counters, Clock: s.Clock,
		RequireAgentHeader: cfg.RequireAgentHeader,
	})
}

func newSweeper(s *service.Service, cfg Config, p parts, editor *editing.UseCase) *sweep.Sweeper {
	return sweep.New(sweep.Deps{
		Config:    cfg.Sweep,
		Retention: cfg.retention(),
		Store:     p.reports,
		Sessions:  editor,
		Files:     p.files,
		Clock:     s.Clock,
		Counters:  p.counters,
	})
}

// newID returns the part of object keys that is unique to an upload.
func newID() string { return uuid.NewString()[:13] }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
