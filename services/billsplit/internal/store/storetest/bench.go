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
)

// Asha is the actor of tests.
var Asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// Counts implements the Observers, and counts patients whose change was told.
type Counts struct{ Executions, Replays, Refusals, Merges, Changes atomic.Int64 }

var (
	_ family.Observer  = (*Counts)(nil)
	_ split.AfterSplit = (*Counts)(nil)
	_ split.Observer   = (*Counts)(nil)
)

func (c *Counts) Validated(bool) {}

func (c *Counts) Calculated(bool) {}

func (c *Counts) Executed(int) { c.Executions.Add(1) }

func (c *Counts) Replayed() { c.Replays.Add(1) }

func (c *Counts) Refused([]bill.Failure) { c.Refusals.Add(1) }

func (c *Counts) Took(string, time.Duration) {}

func (c *Counts) Merged() { c.Merges.Add(1) }

func (c *Counts) Changed(context.Context, authn.LabScope, int64) { c.Changes.Add(1) }

// Cases are the use cases over a store.
type Cases struct {
	*split.Splitter
	*family.Merger
	*Counts

	lab authn.LabScope
}

// NewCases returns the use cases for laboratory 12.
func NewCases(t testing.TB, s Store) Cases {
	t.Helper()
	counts := &Counts{}
	splitter := split.New(split.Deps{
		Store: s, After: counts, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Observer: counts,
		VATPercent: bill.Carry,
	})
	return Cases{splitter, family.NewMerger(s, counts, clock.System{}, counts), counts, Lab(t, 12)}
}

// Split moves tests of the original bill to a new one.
func (c Cases) Split(ctx context.Context, key string, tests ...int64) (split.Result, error) {
	return c.Execute(ctx, c.Request(key, tests...))
}

// Request is a request to move tests of the original bill.
func (c Cases) Request(key string, tests ...int64) split.Request {
	return split.Request{Lab: c.lab, BillID: Original, Tests: tests, Source: bill.OrgPay, Actor: Asha, Key: key}
}

// Back undoes a split.
func (c Cases) Back(ctx context.Context, key string, newBillID int64) (split.Result, error) {
	return c.Merge(ctx, family.Request{Lab: c.lab, BillID: newBillID, Actor: Asha, Key: key})
}
