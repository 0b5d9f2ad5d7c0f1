package storetest

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// ErrDead is what every step of a dead process comes to.
var ErrDead = errors.New("the process is dead")

// Crashing is a store whose process dies before its nth step; a transaction that was not committed is rolled back by
// its server. DieBefore 0 lives for ever.
type Crashing struct {
	Store

	DieBefore int
	Step      int    // steps so far
	Died      string // the step that did not happen, "" while it lives
}

var (
	_ family.Store = (*Crashing)(nil)
	_ split.Store  = (*Crashing)(nil)
)

func (c *Crashing) next(name string) error {
	if c.Died != "" {
		return ErrDead
	}
	if c.Step++; c.Step == c.DieBefore {
		c.Died = name
		return ErrDead
	}
	return nil
}

func step[T any](c *Crashing, name string, do func() (T, error)) (T, error) {
	if err := c.next(name); err != nil {
		var none T
		return none, err
	}
	return do()
}

func just(c *Crashing, name string, do func() error) error {
	if err := c.next(name); err != nil {
		return err
	}
	return do()
}

// whole is everything that a transaction can do.
type whole interface {
	split.Locked
	family.Locked
}

func (c *Crashing) Once(
	ctx context.Context, lab authn.LabScope, r idempotency.Request, work func(split.Locked) ([]byte, error),
) ([]byte, bool, error) {
	if err := c.next("begin, claim key"); err != nil {
		return nil, false, err
	}
	body, replayed, err := c.Store.Once(ctx, lab, r, func(l split.Locked) ([]byte, error) {
		body, err := work(crashingLocked{l.(whole), c})
		return body, c.then("store answer, commit", err)
	})
	return body, replayed, c.then("answer", err) // the change is there, and the caller does not learn of it
}

func (c *Crashing) OnceMerge(
	ctx context.Context, lab authn.LabScope, r idempotency.Request, work func(family.Locked) ([]byte, error),
) ([]byte, bool, error) {
	if err := c.next("begin, claim key"); err != nil {
		return nil, false, err
	}
	body, replayed, err := c.Store.OnceMerge(ctx, lab, r, func(l family.Locked) ([]byte, error) {
		body, err := work(crashingLocked{l.(whole), c})
		return body, c.then("store answer, commit", err)
	})
	return body, replayed, c.then("answer", err) // the change is there, and the caller does not learn of it
}

// then is the step after what did not fail.
func (c *Crashing) then(name string, err error) error {
	if err != nil {
		return err
	}
	return c.next(name)
}

type crashingLocked struct {
	whole

	c *Crashing
}

func (l crashingLocked) Bill(ctx context.Context, id int64) (*bill.Bill, error) {
	return step(l.c, "lock bill", func() (*bill.Bill, error) { return l.whole.Bill(ctx, id) })
}

func (l crashingLocked) Rows(ctx context.Context, id int64) ([]bill.Row, error) {
	return step(l.c, "lock tests", func() ([]bill.Row, error) { return l.whole.Rows(ctx, id) })
}

func (l crashingLocked) Around(ctx context.Context, id int64, tests []int64) (bill.Surroundings, error) {
	return step(l.c, "read guarded tables", func() (bill.Surroundings, error) { return l.whole.Around(ctx, id, tests) })
}

func (l crashingLocked) NextBillNumber(ctx context.Context) (int64, error) {
	return step(l.c, "take bill number", func() (int64, error) { return l.whole.NextBillNumber(ctx) })
}

func (l crashingLocked) OrderNumbers(ctx context.Context, prefix string) ([]string, error) {
	return step(l.c, "read order numbers", func() ([]string, error) { return l.whole.OrderNumbers(ctx, prefix) })
}

func (l crashingLocked) Create(ctx context.Context, like int64, d split.Draft) (int64, error) {
	return step(l.c, "create bill", func() (int64, error) { return l.whole.Create(ctx, like, d) })
}

func (l crashingLocked) SetAmounts(ctx context.Context, id int64, a bill.Amounts) error {
	return just(l.c, "change amounts", func() error { return l.whole.SetAmounts(ctx, id, a) })
}

func (l crashingLocked) Move(ctx context.Context, from, to int64, tests []int64) error {
	return just(l.c, "move tests and reports", func() error { return l.whole.Move(ctx, from, to, tests) })
}

func (l crashingLocked) RetireSmartReports(ctx context.Context, id int64) ([]int64, error) {
	return step(l.c, "retire smart reports", func() ([]int64, error) { return l.whole.RetireSmartReports(ctx, id) })
}

func (l crashingLocked) RestoreSmartReports(ctx context.Context, id int64, ids []int64) error {
	return just(l.c, "restore smart reports", func() error { return l.whole.RestoreSmartReports(ctx, id, ids) })
}

func (l crashingLocked) Record(ctx context.Context, r split.Record) error {
	return just(l.c, "record split", func() error { return l.whole.Record(ctx, r) })
}

func (l crashingLocked) Split(ctx context.Context, id int64) (*family.Record, error) {
	return step(l.c, "read split", func() (*family.Record, error) { return l.whole.Split(ctx, id) })
}

func (l crashingLocked) SplitsOf(ctx context.Context, id int64) ([]family.Record, error) {
	return step(l.c, "read later splits", func() ([]family.Record, error) { return l.whole.SplitsOf(ctx, id) })
}

func (l crashingLocked) Cancel(ctx context.Context, id int64) error {
	return just(l.c, "cancel bill", func() error { return l.whole.Cancel(ctx, id) })
}

func (l crashingLocked) Undone(ctx context.Context, id int64, by authn.Actor, at int64) error {
	return just(l.c, "record merge", func() error { return l.whole.Undone(ctx, id, by, at) })
}

func (l crashingLocked) Log(ctx context.Context, e activitylog.Entry) error {
	return just(l.c, "log", func() error { return l.whole.Log(ctx, e) })
}
