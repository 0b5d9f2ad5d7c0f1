package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
)

// checker checks whether promises are kept, with requests to the public paths and queries of the stores. It shares no
// code with the services.
type checker struct {
	people  *people
	store   *sql.DB
	objects string                              // the folder of the object store
	quiet   func(since time.Time) time.Duration // returns how long no fault was active since a time
	say     func(string, ...any)

	// State of the current round.
	notices map[int64][]int64 // ids of first notices of critical results, by bill
	inbox   map[int64]bool    // whether a notification was read, by id

	doubtful sync.Map // ids of jobs in state unknown

	mu         sync.Mutex
	violations []string // guarded by mu
}

func (c *checker) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, before := range c.violations {
		if before == text {
			return
		}
	}
	c.violations = append(c.violations, text)
	c.say("VIOLATED: %s", text)
}

// work checks open promises until ctx ends.
func (c *checker) work(ctx context.Context) {
	for ctx.Err() == nil {
		c.round(ctx, c.people.ledger.open())
		select {
		case <-ctx.Done():
		case <-time.After(400 * time.Millisecond):
		}
	}
}

const looksAtOnce = 8

// round checks each promise once.
func (c *checker) round(ctx context.Context, promises []*promise) {
	own, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	c.takeInbox(own)
	var all sync.WaitGroup
	places := make(chan struct{}, looksAtOnce)
	for _, p := range promises {
		if ctx.Err() != nil {
			break
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			c.look(own, p)
		})
	}
	all.Wait()
}

// look checks a promise and records the result. The promise's time runs only while nothing is broken.
func (c *checker) look(ctx context.Context, p *promise) {
	duty := duties[p.Must]
	problem := duty.check(c, ctx, p)
	if c.people.ledger.settle(p, problem, c.quiet(p.from()) > duty.within) {
		c.violated("promise %d (%s) is late: %s", p.Number, p.Must, p.problem)
	}
}

func (c *checker) takeInbox(ctx context.Context) {
	if list, err := c.people.inbox(ctx, 10_000); err == nil {
		c.inbox = map[int64]bool{}
		for _, n := range list {
			c.inbox[n.ID] = n.ReadOn != nil
		}
	}
	rows, err := c.store.QueryContext(ctx, "SELECT id, JSON_VALUE(context, '$.bill_id') FROM Notifications"+
		" WHERE lab_id = 12 AND notification_type_id = 2 AND JSON_VALUE(context, '$.bill_id') IS NOT NULL"+
		" AND COALESCE(JSON_VALUE(context, '$.escalation'), 0) = 0"+
		" AND COALESCE(JSON_VALUE(context, '$.corrected'), 'false') NOT IN ('true', '1')")
	if err != nil {
		return
	}
	defer rows.Close()
	notices := map[int64][]int64{}
	for rows.Next() {
		var id, bill int64
		if rows.Scan(&id, &bill) != nil {
			return
		}
		notices[bill] = append(notices[bill], id)
	}
	if rows.Err() == nil {
		c.notices = notices
	}
}

// last waits until every promise is kept or late, then checks every promise again: nothing may be lost later.
func (c *checker) last(ctx context.Context) {
	_ = until(ctx, 2*time.Minute, "every promise", func(ctx context.Context) error { // open promises are reported below
		c.round(ctx, c.people.ledger.open())
		if left := c.people.ledger.those(func(p *promise) bool { return p.keptAt.IsZero() && !p.late }); len(left) > 0 {
			return fmt.Errorf("%d are left", len(left))
		}
		return nil
	})
	c.takeInbox(ctx)
	for _, p := range c.people.ledger.those(func(*promise) bool { return true }) {
		own, done := context.WithTimeout(ctx, patience)
		if err := duties[p.Must].check(c, own, p); err != nil {
			c.violated("promise %d (%s) is not kept at the end: %v", p.Number, p.Must, err)
		}
		done()
	}
	c.compareStores(ctx)
}

// compareStores checks everything in the stores, including what was not acknowledged.
func (c *checker) compareStores(ctx context.Context) {
	for what, statement := range map[string]string{
		"patients without a row of the projection": "SELECT COUNT(*) FROM userDetails u LEFT JOIN user_meta m" +
			" ON m.user_id = u.id AND m.is_deleted = 0 WHERE m.user_id IS NULL",
		"bills split twice": "SELECT COUNT(*) FROM (SELECT 1 FROM bill_split_audit GROUP BY parent_bill_id HAVING COUNT(*) > 1) twice",
		"messages in outboxes": strings.Join([]string{"SELECT (SELECT COUNT(*) FROM outbox_callout)",
			"(SELECT COUNT(*) FROM outbox_rerun)", "(SELECT COUNT(*) FROM outbox_notifications)",
			"(SELECT COUNT(*) FROM outbox_externaledit)"}, " + "),
	} {
		err := until(ctx, 30*time.Second, what, func(ctx context.Context) (err error) {
			var count int
			if err = c.store.QueryRowContext(ctx, statement).Scan(&count); err == nil && count > 0 {
				err = fmt.Errorf("there are %d", count)
			}
			return err
		})
		if err != nil {
			c.violated("no %v", err)
		}
	}
}
