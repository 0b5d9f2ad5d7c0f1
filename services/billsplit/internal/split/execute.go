package split

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Execute splits the bill in one transaction. It returns *Refused if a check fails.
func (s *Splitter) Execute(ctx context.Context, r Request) (Result, error) {
	defer s.timed(modeExecute)()
	once, err := r.once()
	if err != nil {
		return Result{}, fmt.Errorf("encode request: %w", err)
	}
	now := s.d.Clock.Now()
	var done Decision
	answer, replayed, err := s.d.Store.Split(ctx, r, once, func(f Facts) (Decision, error) {
		done, err = s.d.Rules.Decide(f, r, now)
		return done, err
	})
	if err != nil {
		return Result{}, s.refused(err)
	}
	var result Result
	if err := json.Unmarshal(answer, &result); err != nil {
		return Result{}, fmt.Errorf("read the answer of a split: %w", err)
	}
	if replayed {
		s.d.Observer.Replayed()
		return result, nil
	}
	s.finish(ctx, r, done)
	return result, nil
}

func (s *Splitter) refused(err error) error {
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		s.d.Observer.Refused(refused.Failures)
		return refused
	}
	return err
}

// finish runs the steps after the commit. None of them can fail the response.
func (s *Splitter) finish(ctx context.Context, r Request, d Decision) {
	s.d.Observer.Executed(len(d.Record.Moved))
	for _, w := range d.Warnings {
		if w.Type == bill.AmountsDisagree || w.Type == bill.AmountLimited {
			s.d.Log.WarnContext(ctx, "amounts of a split bill disagree", "bill_id", r.BillID, "type", w.Type)
		}
	}
	s.d.After.Changed(ctx, r.Lab, d.parent.PatientID)
}
