package memory

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// locked is a transaction: it holds the whole store, and an error restores it.
type locked struct {
	s       *Store
	scope   authn.LabScope
	bill    callout.Bill
	reports []callout.Report
}

func (s *Store) inTx(scope authn.LabScope, work func(*locked) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state.clone()
	if err := work(&locked{s: s, scope: scope}); err != nil {
		s.state = before
		return err
	}
	return nil
}

func (s *Store) Begin(_ context.Context, scope authn.LabScope, work func(escalate.Locked) error) error {
	return s.inTx(scope, func(l *locked) error { return work(l) })
}

func (s *Store) Lock(_ context.Context, scope authn.LabScope, ids []int64, work func(evaluate.Locked) error) error {
	return s.inTx(scope, func(l *locked) error {
		l.reports = s.pick(scope, func(r Report) bool { return slices.Contains(ids, r.ID) })
		return work(l)
	})
}

func (s *Store) LockBill(
	_ context.Context, scope authn.LabScope, billID int64, ids []int64, v callout.Visibility, work func(save.Locked) error,
) error {
	return s.inTx(scope, func(l *locked) (err error) {
		if l.bill, err = s.bill(scope, billID); err != nil {
			return err
		}
		l.reports = s.pick(scope, func(r Report) bool {
			return r.BillID == billID && slices.Contains(ids, r.ID) && s.sees(v, r)
		})
		return work(l)
	})
}

func (s *Store) OfBill(_ context.Context, scope authn.LabScope, billID int64) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.bill(scope, billID); err != nil {
		return nil, err
	}
	var ids []int64
	for _, r := range s.pick(scope, func(r Report) bool { return r.BillID == billID }) {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

func (l *locked) step() error {
	if l.s.Step == nil {
		return nil
	}
	return l.s.Step()
}

func (l *locked) Bill() callout.Bill        { return l.bill }
func (l *locked) Reports() []callout.Report { return l.reports }
func (l *locked) Formats() callout.Formats  { return l.s.Formats }

func (l *locked) Move(_ context.Context, id int64, _, to callout.Status) error {
	r := l.s.state.reports[id]
	r.Status = to
	r.Changed++
	r.ChangedAt = l.s.clock.Now()
	l.s.state.reports[id] = r
	return l.step()
}

func (l *locked) DeleteDraft(context.Context) error {
	l.s.state.rows = slices.DeleteFunc(slices.Clone(l.s.state.rows), func(r row) bool {
		return r.LabID == l.scope.LabID() && r.Bill.ID == l.bill.ID && r.ReportID == 0
	})
	return l.step()
}

func (l *locked) Add(_ context.Context, r save.Row) error {
	l.s.state.rows = append(l.s.state.rows, row{Row: r, ID: int64(len(l.s.state.rows) + 1), LabID: l.scope.LabID()})
	return l.step()
}

func (l *locked) Log(_ context.Context, e activitylog.Entry) error {
	l.s.state.log = append(l.s.state.log, entry{e, l.scope.LabID()})
	return l.step()
}

func (l *locked) Send(_ context.Context, e outbox.Event) error {
	for _, waiting := range l.s.state.sent {
		if e.DedupeKey != "" && waiting.DedupeKey == e.DedupeKey {
			return nil
		}
	}
	l.s.state.sent = append(l.s.state.sent, e)
	return l.step()
}

func (l *locked) Told(_ context.Context, ids []int64) (map[int64]callout.Snapshot, error) {
	told := map[int64]callout.Snapshot{}
	for _, r := range l.s.state.rows {
		if r.LabID != l.scope.LabID() || !slices.Contains(ids, r.ReportID) {
			continue
		}
		if s, ok := callout.ReadSnapshot(r.ValuesMeta, r.ReportID); ok {
			told[r.ReportID] = s
		}
	}
	return told, nil
}

func (l *locked) Heard(_ context.Context, billID, reportID int64) (heard []callout.Parameter, err error) {
	for _, r := range l.s.state.rows {
		if r.LabID == l.scope.LabID() && r.Bill.ID == billID && r.ReportID == 0 {
			heard = callout.HeardOf(r.ValuesMeta, r.CalloutMeta, reportID)
		}
	}
	return heard, nil
}

func (l *locked) Calls(_ context.Context, patientID int64, since time.Time) ([]callout.Call, error) {
	var calls []callout.Call
	for _, r := range l.s.state.rows {
		if r.LabID == l.scope.LabID() && !r.At.Before(since) && l.s.state.reports[r.ReportID].PatientID == patientID {
			calls = append(calls, callout.CallsOf(r.ValuesMeta, r.CalloutMeta, r.ReportID)...)
		}
	}
	return calls, nil
}

func (l *locked) Settings(context.Context) (callout.Settings, error) {
	return l.s.settingsOf(l.scope), nil
}

func (l *locked) Pace(context.Context) (callout.Pace, error) {
	return l.s.settingsOf(l.scope).Pace, nil
}

func (s *Store) settingsOf(scope authn.LabScope) callout.Settings {
	if own, ok := s.Decided[scope.LabID()]; ok {
		return own
	}
	return callout.Settings{Pace: s.pace, ReadBackNeeded: true}
}
