package family

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Merger undoes splits.
type Merger struct {
	store    Store
	after    split.AfterSplit
	clock    clock.Clock
	observer Observer
}

// NewMerger returns a Merger that undoes splits in s.
func NewMerger(s Store, after split.AfterSplit, c clock.Clock, o Observer) *Merger {
	return &Merger{s, after, c, o}
}

// Request is a request to undo the split that created a bill.
type Request struct {
	Lab    authn.LabScope
	BillID int64
	Actor  authn.Actor
	Key    string
}

const operation = "lab.billsplit.v1.BillSplitService/MergeBill"

// Merge undoes the split in one transaction.
func (m *Merger) Merge(ctx context.Context, r Request) (split.Result, error) {
	defer split.Timed(m.clock, m.observer, modeMerge)()
	once := idempotency.Request{Actor: r.Actor, Key: r.Key, Operation: operation, Body: fmt.Append(nil, r.BillID)}
	now := m.clock.Now()
	var done Decision
	answer, replayed, err := m.store.Merge(ctx, r, once, func(f Facts) (d Decision, err error) {
		done, err = Decide(f, r.Actor, now)
		return done, err
	})
	if err != nil {
		return split.Result{}, err
	}
	var result split.Result
	if err := json.Unmarshal(answer, &result); err != nil {
		return split.Result{}, fmt.Errorf("read the answer of a merge: %w", err)
	}
	if !replayed {
		m.observer.Merged()
		m.after.Changed(ctx, r.Lab, done.parent.PatientID)
	}
	return result, nil
}
