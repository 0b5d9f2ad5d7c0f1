package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// ErrDead is what every step of a dead process comes to.
var ErrDead = errors.New("the process is dead")

// Crashing is a process that crashes before its nth step towards a store; nothing of it happens afterwards, clean-up
// included. DieBefore 0 lives for ever. A transaction that was not committed is rolled back by its server.
type Crashing struct {
	DieBefore int

	mu   sync.Mutex
	step int
	at   string // the step that did not happen
}

// Died returns the step before which it died, "" when it lives.
func (m *Crashing) Died() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *Crashing) next(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at != "" {
		return ErrDead
	}
	if m.step++; m.step == m.DieBefore {
		m.at = name
		return ErrDead
	}
	return nil
}

func do[T any](m *Crashing, name string, step func() (T, error)) (T, error) {
	if err := m.next(name); err != nil {
		var none T
		return none, err
	}
	return step()
}

func just(m *Crashing, name string, step func() error) error {
	if err := m.next(name); err != nil {
		return err
	}
	return step()
}

type crashingDocuments struct {
	s Documents
	m *Crashing
}

func (d crashingDocuments) OfReport(ctx context.Context, scope authn.LabScope, id int64) ([]rerun.Record, error) {
	return do(d.m, "read records", func() ([]rerun.Record, error) { return d.s.OfReport(ctx, scope, id) })
}

func (d crashingDocuments) Values(ctx context.Context, scope authn.LabScope, id int64) ([]rerun.Value, error) {
	return do(d.m, "read values", func() ([]rerun.Value, error) { return d.s.Values(ctx, scope, id) })
}

func (d crashingDocuments) Insert(ctx context.Context, r rerun.Record) error {
	return just(d.m, "insert record", func() error { return d.s.Insert(ctx, r) })
}

// InsertValues can die between any two documents: the store inserts them one after the other.
func (d crashingDocuments) InsertValues(ctx context.Context, values []rerun.Value) error {
	if err := d.m.next("insert values"); err != nil {
		return err
	}
	if len(values) > 1 && d.m.next("insert second value") != nil {
		_ = d.s.InsertValues(ctx, values[:1])
		return ErrDead
	}
	return d.s.InsertValues(ctx, values)
}

func (d crashingDocuments) ReplaceValue(ctx context.Context, scope authn.LabScope, v rerun.Value) error {
	return just(d.m, "replace value", func() error { return d.s.ReplaceValue(ctx, scope, v) })
}

func (d crashingDocuments) Close(ctx context.Context, scope authn.LabScope, id string) error {
	return just(d.m, "close slot", func() error { return d.s.Close(ctx, scope, id) })
}

func (d crashingDocuments) Retire(ctx context.Context, scope authn.LabScope, id string) error {
	return just(d.m, "retire record", func() error { return d.s.Retire(ctx, scope, id) })
}

func (d crashingDocuments) Delete(ctx context.Context, scope authn.LabScope, ids ...string) error {
	return just(d.m, "delete records", func() error { return d.s.Delete(ctx, scope, ids...) })
}

func (d crashingDocuments) DeleteValues(ctx context.Context, scope authn.LabScope, ids []string) error {
	return just(d.m, "delete values", func() error { return d.s.DeleteValues(ctx, scope, ids) })
}

type crashingFlags struct {
	s Reports
	m *Crashing
}

func (f crashingFlags) Flag(ctx context.Context, scope authn.LabScope, id int64) (rerun.Flag, error) {
	return do(f.m, "read flag again", func() (rerun.Flag, error) { return f.s.Flag(ctx, scope, id) })
}

type crashingCache struct {
	s OpenSet
	m *Crashing
}

func (c crashingCache) Set(ctx context.Context, scope authn.LabScope, id int64, open bool) error {
	return just(c.m, "cache", func() error { return c.s.Set(ctx, scope, id, open) })
}

type crashingLocked struct {
	Locked
	m *Crashing
}

func (l crashingLocked) Parameters(ctx context.Context) ([]rerun.Parameter, error) {
	return do(l.m, "read parameters", func() ([]rerun.Parameter, error) { return l.Locked.Parameters(ctx) })
}

func (l crashingLocked) Ledger(ctx context.Context) (rerun.Ledger, error) {
	return do(l.m, "read ledger", func() (rerun.Ledger, error) { return l.Locked.Ledger(ctx) })
}

func (l crashingLocked) SetFlag(ctx context.Context, to rerun.Flag) error {
	return just(l.m, "set flag", func() error { return l.Locked.SetFlag(ctx, to) })
}

func (l crashingLocked) Log(ctx context.Context, e activitylog.Entry) (int64, error) {
	return do(l.m, "log", func() (int64, error) { return l.Locked.Log(ctx, e) })
}

func (l crashingLocked) Archived(ctx context.Context) (map[string]bool, error) {
	return do(l.m, "read archive", func() (map[string]bool, error) { return l.Locked.Archived(ctx) })
}

func (l crashingLocked) Results(ctx context.Context) ([]rerun.Result, error) {
	return do(l.m, "read results", func() ([]rerun.Result, error) { return l.Locked.Results(ctx) })
}

func (l crashingLocked) Replace(ctx context.Context, gone, confirmed []rerun.Result) error {
	return just(l.m, "replace results", func() error { return l.Locked.Replace(ctx, gone, confirmed) })
}

func (l crashingLocked) Unsign(ctx context.Context) error {
	return just(l.m, "clear signature", func() error { return l.Locked.Unsign(ctx) })
}

func (l crashingLocked) Send(ctx context.Context, e outbox.Event) error {
	return just(l.m, "outbox row", func() error { return l.Locked.Send(ctx, e) })
}

// crashingReports is the relational store of a process that may die before it commits.
type crashingReports struct {
	Reports
	m *Crashing
}

func (r crashingReports) Lock(ctx context.Context, scope authn.LabScope, id int64, work func(Locked) error) error {
	return just(r.m, "lock row", func() error {
		return r.Reports.Lock(ctx, scope, id, func(l Locked) error {
			if err := work(crashingLocked{l, r.m}); err != nil {
				return err
			}
			return r.m.next("commit")
		})
	})
}

func (r crashingReports) LogFailure(ctx context.Context, scope authn.LabScope, id int64, e activitylog.Entry) error {
	return just(r.m, "log failure", func() error { return r.Reports.LogFailure(ctx, scope, id, e) })
}

// The views of use cases on a relational store: a locked report shows each the part that it may touch.
type (
	// Requests is request.Reports.
	Requests struct{ Reports }
	// Receipts is receive.Reports.
	Receipts struct{ Reports }
	// Closings is closing.Reports.
	Closings struct{ Reports }
	// Sweeps is sweep.Reports.
	Sweeps struct{ Reports }
)

var (
	_ request.Reports = (*Requests)(nil)
	_ receive.Reports = (*Receipts)(nil)
	_ closing.Reports = (*Closings)(nil)
	_ sweep.Reports   = (*Sweeps)(nil)
)

func (r Requests) Lock(ctx context.Context, s authn.LabScope, id int64, work func(request.Locked) error) error {
	return r.Reports.Lock(ctx, s, id, func(l Locked) error { return work(l) })
}

func (r Receipts) Lock(ctx context.Context, s authn.LabScope, id int64, work func(receive.Locked) error) error {
	return r.Reports.Lock(ctx, s, id, func(l Locked) error { return work(l) })
}

func (r Closings) Lock(ctx context.Context, s authn.LabScope, id int64, work func(closing.Locked) error) error {
	return r.Reports.Lock(ctx, s, id, func(l Locked) error { return work(l) })
}

func (r Sweeps) Lock(ctx context.Context, s authn.LabScope, id int64, work func(sweep.Locked) error) error {
	return r.Reports.Lock(ctx, s, id, func(l Locked) error { return work(l) })
}
