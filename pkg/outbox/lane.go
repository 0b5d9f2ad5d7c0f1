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

	misses  int       // consecutive times that the receiver was unavailable
	probeAt time.Time // no delivery before this time
}

// run delivers due rows until ctx ends or the database fails.
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
		n, err := l.deliverDue(ctx, s)
		if err != nil {
			return err
		}
		pause := l.d.Config.PollInterval
		if n >= l.d.Config.BatchSize { // after a full batch more rows may be due
			pause = 0
		}
		timer.Reset(pause)
	}
}

// deliverDue delivers due rows, at most a batch, and returns how many it tried. Only the first row of an aggregate is
// due, so the query is repeated after deliveries.
func (l *lane) deliverDue(ctx context.Context, s *session) (taken int, err error) {
	for taken < l.d.Config.BatchSize && ctx.Err() == nil {
		now := l.d.Clock.Now()
		if now.Before(l.probeAt) {
			return taken, nil
		}
		limit := l.d.Config.BatchSize - taken
		if l.misses > 0 {
			limit = 1 // one row probes the receiver
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

// removeWithin is the time after which the next delivery also removes the rows delivered so far, because a delivered
// row still blocks messages with its dedupe key.
const removeWithin = 50 * time.Millisecond

// deliverAll delivers rows in turn. Delivered rows are removed together, because a commit per row costs more than its
// delivery. A crash before that repeats their delivery.
func (l *lane) deliverAll(ctx context.Context, s *session, rows []Row) (tried int, err error) {
	lasting := context.WithoutCancel(ctx) // the removal must not be cancelled, or the rows would be delivered again
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

// paused reports whether the process is stopping or the receiver has just become unavailable.
func (l *lane) paused(ctx context.Context) bool {
	return ctx.Err() != nil || l.d.Clock.Now().Before(l.probeAt)
}

// try delivers one row and records a failure.
func (l *lane) try(ctx context.Context, s *session, row Row) (delivered bool, err error) {
	ctx = row.traced(ctx)
	reason := l.call(ctx, row)
	if stopping := ctx.Err() != nil; stopping && reason != nil {
		return false, nil //nolint:nilerr // the next leader tries the row again; it loses no attempt
	}
	ctx = context.WithoutCancel(ctx)
	if IsReceiverUnavailable(reason) {
		return false, l.miss(ctx, s, row, reason)
	}
	l.available()
	if reason == nil {
		l.d.Metrics.delivered.WithLabelValues(l.kind).Inc()
		return true, nil
	}
	return false, l.fail(ctx, s, row, reason)
}

// fail parks an undeliverable row and postpones any other.
func (l *lane) fail(ctx context.Context, s *session, row Row, reason error) error {
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

// call calls the receiver. A panic becomes an error; its value, which may contain patient data, is left out unless it
// is a runtime.Error.
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

// miss makes the kind wait. The row is moved behind the others, so that a row that crashes its receiver is not the only
// one that probes it. Only the first miss is logged as a warning.
func (l *lane) miss(ctx context.Context, s *session, row Row, reason error) error {
	if l.misses == 0 {
		l.d.Log.WarnContext(ctx, "outbox receiver unavailable; messages of this kind wait, probing with one",
			"table", s.table, "kind", l.kind, "error", reason)
	}
	l.d.Metrics.unavailable.WithLabelValues(l.kind).Set(1)
	l.probeAt = l.d.Clock.Now().Add(l.d.Config.probeDelay(l.misses))
	l.misses++
	return s.sendBack(ctx, row.ID, l.probeAt, reason.Error())
}

// available resets the number of consecutive misses and the kind's gauge after a response of the receiver.
func (l *lane) available() {
	if l.misses > 0 {
		l.d.Log.Info("outbox receiver available again", "table", l.d.Table.name, "kind", l.kind)
	}
	l.misses = 0
	l.d.Metrics.unavailable.WithLabelValues(l.kind).Set(0)
}
