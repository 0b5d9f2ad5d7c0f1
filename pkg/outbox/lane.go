package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// lane delivers the rows of one kind. Its fields below wake are used by one goroutine at a time.
type lane struct {
	d       Deps
	kind    string
	deliver Deliver
	wake    chan struct{}

	misses int       // how often in a row the receiver was unavailable
	asksAt time.Time // nothing is tried before
}

// run makes passes until ctx ends or the database fails.
func (l *lane) run(ctx context.Context, s *session) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-l.wake:
		}
		n, err := l.pass(ctx, s)
		if err != nil {
			return err
		}
		pause := l.d.Config.PollInterval
		if n >= l.d.Config.BatchSize { // a full batch has successors
			pause = 0
		}
		timer.Reset(pause)
	}
}

// pass tries due rows, at most a batch, and returns how many. Of an aggregate only the first row is due, so what
// follows a delivered one comes with the next look.
func (l *lane) pass(ctx context.Context, s *session) (taken int, err error) {
	for taken < l.d.Config.BatchSize && ctx.Err() == nil {
		now := l.d.Clock.Now()
		if now.Before(l.asksAt) {
			return taken, nil
		}
		limit := l.d.Config.BatchSize - taken
		if l.misses > 0 {
			limit = 1 // one row asks whether the receiver is back
		}
		rows, err := s.due(ctx, l.kind, now, limit)
		if err != nil || len(rows) == 0 {
			return taken, err
		}
		n, err := l.deliverAll(ctx, s, rows)
		taken += n
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// removeWithin is how long a delivered row may stay: meanwhile it keeps out messages with its dedupe key.
const removeWithin = 50 * time.Millisecond

// deliverAll tries the rows in turn. Those that were delivered are removed together: a commit for each costs more than
// its delivery. A crash before that sends these rows again, as a crash behind any delivery does.
func (l *lane) deliverAll(ctx context.Context, s *session, rows []Row) (tried int, err error) {
	lasting := context.WithoutCancel(ctx) // also when the process is stopping: else the receiver would see the rows again
	var delivered []int64
	var first time.Time
	for _, row := range rows {
		if err != nil || l.paused(ctx) {
			break
		}
		tried++
		var done bool
		if done, err = l.try(ctx, s, row); !done {
			continue
		}
		if delivered = append(delivered, row.ID); len(delivered) == 1 {
			first = l.d.Clock.Now()
		}
		if l.d.Clock.Now().Sub(first) >= removeWithin {
			err = s.remove(lasting, delivered)
			delivered = nil
		}
	}
	return tried, errors.Join(err, s.remove(lasting, delivered))
}

// paused reports that the process stops, or that the receiver has just been away.
func (l *lane) paused(ctx context.Context) bool {
	return ctx.Err() != nil || l.d.Clock.Now().Before(l.asksAt)
}

// try delivers one row, and records why it could not be.
func (l *lane) try(ctx context.Context, s *session, row Row) (delivered bool, err error) {
	ctx = row.traced(ctx)
	reason := l.call(ctx, row)
	if stopping := ctx.Err() != nil; stopping && reason != nil {
		return false, nil //nolint:nilerr // the next leader tries the row again; it loses no attempt
	}
	ctx = context.WithoutCancel(ctx)
	if IsAway(reason) {
		return false, l.miss(ctx, s, row, reason)
	}
	l.back()
	if reason == nil {
		l.d.Metrics.delivered.WithLabelValues(l.kind).Inc()
		return true, nil
	}
	return false, l.refused(ctx, s, row, reason)
}

// refused parks a row that its receiver will never take, and postpones any other.
func (l *lane) refused(ctx context.Context, s *session, row Row, reason error) error {
	switch {
	case IsUndeliverable(reason):
		l.d.Metrics.undeliverable.WithLabelValues(l.kind).Inc()
		l.d.Log.ErrorContext(ctx, "outbox row parked", "table", s.table, "id", row.ID, "kind", l.kind, "error", reason)
		return s.park(ctx, row.ID, reason.Error())
	default:
		l.d.Metrics.failed.WithLabelValues(l.kind).Inc()
		l.d.Log.WarnContext(ctx, "outbox row postponed", "table", s.table, "id", row.ID, "kind", l.kind,
			"attempts", row.Attempts+1, "error", reason)
		at := l.d.Clock.Now().Add(l.d.Config.retryDelay(row.Attempts, l.d.Jitter()))
		return s.postpone(ctx, row.ID, at, reason.Error())
	}
}

// call hands the row over. A panic becomes an error without the panic's value, which may hold anything.
func (l *lane) call(ctx context.Context, row Row) (err error) {
	ctx, cancel := context.WithTimeout(ctx, l.d.Config.DeliverTimeout)
	defer cancel()
	ctx, end := l.span(ctx, row)
	defer func() { end(err) }()
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = fmt.Errorf("delivery panicked with a value of type %T", value)
		if known, ok := value.(runtime.Error); ok {
			err = fmt.Errorf("delivery panicked: %w", known)
		}
		l.d.Log.ErrorContext(ctx, "outbox delivery panicked", "kind", l.kind, "id", row.ID, "stack", string(debug.Stack()))
	}()
	return l.deliver(ctx, row)
}

// miss makes the kind wait. The row goes behind the others, so that one that makes its receiver fall over is not the
// only one that ever asks for it. Only the first miss is worth a warning.
func (l *lane) miss(ctx context.Context, s *session, row Row, reason error) error {
	if l.misses == 0 {
		l.d.Log.WarnContext(ctx, "outbox receiver is away; messages of this kind wait, one of them asks again",
			"table", s.table, "kind", l.kind, "error", reason)
	}
	l.d.Metrics.away.WithLabelValues(l.kind).Set(1)
	l.asksAt = l.d.Clock.Now().Add(l.d.Config.probeDelay(l.misses))
	l.misses++
	return s.sendBack(ctx, row.ID, l.asksAt, reason.Error())
}

// back notes that the receiver answered.
func (l *lane) back() {
	if l.misses > 0 {
		l.d.Log.Info("outbox receiver is back", "table", l.d.Table.name, "kind", l.kind)
	}
	l.misses = 0
	l.d.Metrics.away.WithLabelValues(l.kind).Set(0)
}
