package split

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Execute splits the bill in one transaction. The error is *Refused when a check fails.
func (s *Splitter) Execute(ctx context.Context, r Request) (Result, error) {
	defer s.timed(modeExecute)()
	once, err := r.once()
	if err != nil {
		return Result{}, fmt.Errorf("encode request: %w", err)
	}
	var done assessment
	answer, replayed, err := s.d.Store.Once(ctx, r.Lab, once, func(l Locked) ([]byte, error) {
		if err := s.admit(ctx, l); err != nil {
			return nil, err
		}
		a, err := s.assess(ctx, l, r)
		if err != nil {
			return nil, err
		}
		if all := append(a.failures, a.execution...); len(all) > 0 {
			return nil, &Refused{all}
		}
		done = a
		return s.write(ctx, l, r, a)
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

// finish follows the commit; none of it can fail the answer.
func (s *Splitter) finish(ctx context.Context, r Request, a assessment) {
	s.d.Observer.Executed(len(a.selection.Moved))
	for _, w := range a.warnings {
		s.d.Log.WarnContext(ctx, "amounts of a split bill", "bill_id", r.BillID, "type", w.Type)
	}
	s.d.After.Changed(ctx, r.Lab, a.bill.PatientID)
}

// write does the split. The bill number comes late: it holds up other splits of the laboratory.
func (s *Splitter) write(ctx context.Context, l Locked, r Request, a assessment) ([]byte, error) {
	record := Record{
		ParentID:      a.bill.ID,
		Moved:         bill.IDs(a.selection.Moved),
		Rows:          a.selection.Moved,
		ParentVersion: a.bill.Version + 1,
		Before:        a.bill.Amounts,
		AfterParent:   a.division.Parent,
		AfterNew:      a.division.New,
		By:            authn.Actor{Kind: r.Actor.Kind, ID: r.Actor.ID},
		At:            s.d.Clock.Now().UnixMilli(),
	}
	if err := l.SetAmounts(ctx, a.bill.ID, a.division.Parent); err != nil {
		return nil, err
	}
	var err error
	if record.SmartReports, err = l.RetireSmartReports(ctx, a.bill.ID); err != nil {
		return nil, err
	}
	draft, err := s.draft(ctx, l, r, a)
	if err != nil {
		return nil, err
	}
	if record.NewID, err = l.Create(ctx, a.bill.ID, draft); err != nil {
		return nil, err
	}
	if err := l.Move(ctx, a.bill.ID, record.NewID, record.Moved); err != nil {
		return nil, err
	}
	if err := l.Record(ctx, record); err != nil {
		return nil, err
	}
	if err := s.log(ctx, l, r, a, record, draft); err != nil {
		return nil, err
	}
	return json.Marshal(Result{
		Original: Summary{a.bill.ID, a.bill.LabBillID, a.division.Parent.Total},
		New:      Summary{record.NewID, draft.LabBillID, a.division.New.Total},
		Warnings: a.warnings,
	})
}

// draft numbers the new bill. The laboratory's counter is locked before the order numbers are read, so no two splits of
// one family see the same ones.
func (s *Splitter) draft(ctx context.Context, l Locked, r Request, a assessment) (Draft, error) {
	number, err := l.NextBillNumber(ctx)
	if err != nil {
		return Draft{}, err
	}
	d := Draft{LabBillID: number, Source: r.Source, Amounts: a.division.New}
	if bill.OrderStem(a.bill.OrderNumber) == "" {
		return d, nil
	}
	family, err := l.OrderNumbers(ctx, bill.OrderPrefix(a.bill.OrderNumber))
	if err != nil {
		return Draft{}, err
	}
	if d.OrderNumber, err = bill.NextOrder(a.bill.OrderNumber, family); err != nil {
		return Draft{}, err
	}
	return d, nil
}
