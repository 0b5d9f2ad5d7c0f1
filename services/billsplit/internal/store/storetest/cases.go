package storetest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
)

// Asha is the lab user who acts in tests.
var Asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// Counts counts the events of the use cases, and the patients whose change was announced.
type Counts struct{ Executions, Replays, Refusals, Merges, Changes atomic.Int64 }

var (
	_ split.Observer   = (*Counts)(nil)
	_ split.AfterSplit = (*Counts)(nil)
	_ family.Observer  = (*Counts)(nil)
)

// Validated counts nothing.
func (c *Counts) Validated(bool) {}

// Calculated counts nothing.
func (c *Counts) Calculated(bool) {}

// Executed counts a split.
func (c *Counts) Executed(int) { c.Executions.Add(1) }

// Replayed counts a repeated response.
func (c *Counts) Replayed() { c.Replays.Add(1) }

// Refused counts a rejected split.
func (c *Counts) Refused([]bill.Failure) { c.Refusals.Add(1) }

// Took counts nothing.
func (c *Counts) Took(string, time.Duration) {}

// Merged counts a split that was undone.
func (c *Counts) Merged() { c.Merges.Add(1) }

// Changed counts a patient whose change was announced.
func (c *Counts) Changed(context.Context, authn.LabScope, int64) { c.Changes.Add(1) }

// Cases are the use cases over a store.
type Cases struct {
	*split.Splitter
	*family.Merger
	*Counts

	lab authn.LabScope
}

// NewCases returns the use cases for laboratory 12.
func NewCases(t testing.TB, s *mysql.Store) Cases {
	t.Helper()
	counts := &Counts{}
	splitter := split.New(split.Deps{
		Store: s, After: counts, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Observer: counts,
		Rules: split.Rules{VATPercent: bill.Carry},
	})
	return Cases{splitter, family.NewMerger(s, counts, clock.System{}, counts), counts, Lab(t, 12)}
}

// Split moves tests of the original bill to a new bill.
func (c Cases) Split(ctx context.Context, key string, tests ...int64) (split.Result, error) {
	return c.Execute(ctx, c.Request(key, tests...))
}

// Request returns a request to move tests of the original bill.
func (c Cases) Request(key string, tests ...int64) split.Request {
	return split.Request{Lab: c.lab, BillID: Original, Tests: tests, Source: bill.OrgPay, Actor: Asha, Key: key}
}

// Back undoes a split.
func (c Cases) Back(ctx context.Context, key string, newBillID int64) (split.Result, error) {
	return c.Merge(ctx, family.Request{Lab: c.lab, BillID: newBillID, Actor: Asha, Key: key})
}
