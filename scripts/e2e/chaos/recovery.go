package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

const (
	recoverWithin = 30 * time.Second
	// MariaDB checks for free space once a minute
	recoverFromFullDatabase = 75 * time.Second
	giveUpAfter             = 2 * time.Minute // time limit for a recovery that is already late
)

// recovery is the time from the end of a fault until each probe succeeded again.
type recovery struct {
	what string
	took time.Duration
	err  error
}

// probes returns a request for each function that must work on a recovered platform, at least one per area.
func (r *run) probes() map[string]func(context.Context) error {
	get := func(path string) func(context.Context) error {
		return func(ctx context.Context) error { return r.people.ask(ctx, labUser, http.MethodGet, path, nil, nil) }
	}
	return map[string]func(context.Context) error{
		"reruns are shown":                        get("/api-v3/sample-rerun/7001"),
		"the callout board is shown":              get("/operation/critical-callout/open"),
		"the inbox of notifications is shown":     get("/api-v3/notifications/all?limit=1"),
		"the cells of the cell counter are shown": get("/api-v3/cell-counter-mappings/cells"),
		"a document's saves are shown":            get("/api-v3/report/external-edit/7001/revisions?limit=1"),
		"a split is validated": func(ctx context.Context) error {
			return r.people.ask(ctx, labUser, http.MethodPost, "/api-v3/finance/bill/split/9011",
				map[string]any{"test_ids": []int{1}, "is_validate": true}, nil)
		},
		"a webhook arrives":         r.hookArrives,
		"a patient is found":        r.patientIsFound(),
		"the core evaluates a bill": func(ctx context.Context) error { return r.judge(ctx, 9001) },
	}
}

func (r *run) hookArrives(ctx context.Context) error {
	jobs, err := r.people.enqueueHooks(ctx, 1)
	if err != nil {
		return err
	}
	return until(ctx, 3*time.Second, "the webhook", func(context.Context) error {
		if r.people.receiver.times(jobs[0]) == 0 {
			return errors.New("it did not arrive")
		}
		return nil
	})
}

// patientIsFound registers a patient and searches until the patient is found. Each patient has a phone number of its
// own, because a cancelled attempt may have registered one, too.
func (r *run) patientIsFound() func(context.Context) error {
	var contact string
	var id int64
	return func(ctx context.Context) error {
		if id == 0 {
			contact = fmt.Sprintf("5%09d", time.Now().UnixNano()/1000%1_000_000_000)
			inserted, err := r.check.store.ExecContext(ctx, "INSERT INTO userDetails (labId_id, branchId, orgId_id, fullName,"+
				" firstName, contact, countryCode) VALUES (?, ?, 45, 'Probe', 'Probe', ?, '91')", day.Laboratory, day.Branch, contact)
			if err != nil {
				return err
			}
			if id, err = inserted.LastInsertId(); err != nil {
				return err
			}
		}
		ids, _, err := r.people.search(ctx, labUser, contact)
		if err == nil && !slices.Contains(ids, id) {
			err = fmt.Errorf("patient %d is not found", id)
		}
		return err
	}
}

// recovered waits until every probe has succeeded once, and returns the time of each.
func (r *run) recovered(ctx context.Context) (all []recovery, took time.Duration) {
	begin := time.Now()
	var running sync.WaitGroup
	var mu sync.Mutex
	for what, probe := range r.probes() {
		running.Go(func() {
			err := until(ctx, giveUpAfter, what, func(ctx context.Context) error {
				own, done := context.WithTimeout(ctx, 5*time.Second)
				defer done()
				return probe(own)
			})
			mu.Lock()
			defer mu.Unlock()
			all = append(all, recovery{what, time.Since(begin), err})
		})
	}
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { r.revived = r.revive(watching) })
	running.Wait()
	stop()
	watched.Wait()
	slices.SortFunc(all, func(a, b recovery) int { return int(a.took - b.took) })
	return all, all[len(all)-1].took
}
