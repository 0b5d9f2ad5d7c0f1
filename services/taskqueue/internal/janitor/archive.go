package janitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Entry is a finished job to archive.
type Entry struct {
	ID     job.ID
	Record job.Record
}

// Ends is the part of the engine used by the archive.
type Ends interface {
	OldestEnds(ctx context.Context, shard, most int) (engine.Ends, error)
	TrimEnds(ctx context.Context, shard int, observed engine.Ends) (bool, error)
	ForgetResults(ctx context.Context, ids []job.ID) error
	HowEnded(ctx context.Context, ids []job.ID) ([]engine.Ended, error)
}

// Store is the archive of finished jobs.
type Store interface {
	Write(ctx context.Context, list []Entry) (refused []job.ID, err error)
	Purge(ctx context.Context, before time.Time) (int64, error)
	PurgeBatch() int64
}

// Archived counts archived jobs by outcome.
type Archived interface {
	Archived(outcome string, jobs int)
}

// Outcomes returns the outcomes of archiving a job: written, gone (without a readable record, for example because it
// expired or an operator retried the job), refused (by the database).
func Outcomes() []string { return []string{"written", "gone", "refused"} }

const (
	endsPage   = 500
	purgeEvery = 10 * time.Minute
	// forgetAfter is how long Redis keeps a result that is already archived. Most requests for a result come soon after
	// the end.
	forgetAfter = time.Minute
	// maxKept is the maximum number of archived ids that this process remembers until then.
	maxKept = 100_000
)

// Archive moves finished jobs from Redis into the store: it reads a page, writes it, and removes the page from the
// archive queue. A crash between two steps repeats the write, which replaces a job only by a newer end, so that no end
// is lost or stored twice. While the store is unavailable, jobs stay in the archive queue for as long as their records
// are kept; if too many of them wait, the engine claims no ordinary jobs. Results are deleted from Redis a minute after
// they were archived, or expire with their records if this process dies in that minute. RunOnce must not be called
// concurrently.
type Archive struct {
	Queue    Ends
	Store    Store
	Observer Archived
	Clock    clock.Clock
	Log      *slog.Logger
	Age      time.Duration // how long the store keeps a job

	purged time.Time
	kept   []written // archived results that are still in Redis, oldest first
	ids    int       // number of ids in kept
}

// written holds the ids of a page, and the time at which it was archived.
type written struct {
	at  time.Time
	ids []job.ID
}

// RunOnce archives all finished jobs on the shards that the caller leads. The leader of shard 0 also purges the store
// every ten minutes.
func (a *Archive) RunOnce(ctx context.Context, leads func(shard int) bool) error {
	err := eachShard(func(shard int) error {
		for leads(shard) {
			n, err := a.move(ctx, shard)
			if err != nil || n < endsPage {
				return err
			}
		}
		return nil
	})
	err = errors.Join(err, a.forget(ctx))
	if leads(0) {
		err = errors.Join(err, a.purge(ctx))
	}
	return err
}

// forget deletes results from Redis that were archived at least forgetAfter ago, or earlier if there are too many.
func (a *Archive) forget(ctx context.Context) error {
	for len(a.kept) > 0 && (a.ids > maxKept || a.Clock.Now().Sub(a.kept[0].at) >= forgetAfter) {
		if err := a.Queue.ForgetResults(ctx, a.kept[0].ids); err != nil {
			return fmt.Errorf("forget archived results: %w", err)
		}
		a.ids -= len(a.kept[0].ids)
		a.kept = a.kept[1:]
	}
	return nil
}

// move archives one page of the archive queue and returns its length.
func (a *Archive) move(ctx context.Context, shard int) (int, error) {
	ends, err := a.Queue.OldestEnds(ctx, shard, endsPage)
	if err != nil || len(ends.IDs) == 0 {
		return 0, err
	}
	results, err := a.keep(ctx, ends.IDs)
	if err != nil {
		return 0, err
	}
	if _, err := a.Queue.TrimEnds(ctx, shard, ends); err != nil {
		return 0, fmt.Errorf("forget archived ends: %w", err)
	}
	if len(results) > 0 {
		a.kept, a.ids = append(a.kept, written{a.Clock.Now(), results}), a.ids+len(results)
	}
	if a.ids > maxKept {
		return len(ends.IDs), a.forget(ctx)
	}
	return len(ends.IDs), nil
}

// Keep archives jobs with their current records. Jobs without a record are skipped: an operator retried them, or their
// record expired. A page with only such jobs needs no database.
func (a *Archive) Keep(ctx context.Context, ids []job.ID) error {
	_, err := a.keep(ctx, ids)
	return err
}

// keep archives jobs and returns those whose results may be deleted from Redis. Dead letters are excluded, because
// /retryTask/ needs their bodies.
func (a *Archive) keep(ctx context.Context, ids []job.ID) (results []job.ID, err error) {
	ended, err := a.Queue.HowEnded(ctx, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(ids))
	seen := make(map[job.ID]bool, len(ids))
	for _, e := range ended {
		if e.Record == nil || seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		r, err := job.DecodeRecord(e.Record)
		if err != nil {
			a.Log.ErrorContext(ctx, "a result cannot be read and is not archived", "job_id", string(e.ID), "error", err)
			continue
		}
		entries = append(entries, Entry{ID: e.ID, Record: *r})
		if !e.Dead {
			results = append(results, e.ID)
		}
	}
	var refused []job.ID
	if len(entries) > 0 {
		if refused, err = a.Store.Write(ctx, entries); err != nil {
			return nil, err
		}
	}
	for _, id := range refused {
		a.Log.ErrorContext(ctx, "the database refuses an ended job; it is not archived", "job_id", string(id))
	}
	a.Observer.Archived("written", len(entries)-len(refused))
	a.Observer.Archived("gone", len(ids)-len(entries))
	a.Observer.Archived("refused", len(refused))
	return slices.DeleteFunc(results, func(id job.ID) bool { return slices.Contains(refused, id) }), nil
}

func (a *Archive) purge(ctx context.Context) error {
	now := a.Clock.Now()
	if now.Sub(a.purged) < purgeEvery {
		return nil
	}
	for {
		n, err := a.Store.Purge(ctx, now.Add(-a.Age))
		if err != nil {
			return err
		}
		if n < a.Store.PurgeBatch() {
			a.purged = now
			return nil
		}
	}
}
