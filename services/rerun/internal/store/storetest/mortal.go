package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/labplatform/labplatform/pkg/activitylog"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	openset "github.com/labplatform/labplatform/services/rerun/internal/store/redis"
)

// ErrDead is what every step of a dead process comes to.
var ErrDead = errors.New("the process is dead")

// Mortal is a process that dies before its nth step towards a store; nothing of it happens afterwards, clean-up
// included. DieBefore 0 lives for ever. A transaction that was not committed is rolled back by its server.
type Mortal struct {
	DieBefore int

	mu   sync.Mutex
	step int
	at   string // the step that did not happen
}

// Died returns the step before which it died, "" when it lives.
func (m *Mortal) Died() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *Mortal) next(name string) error {
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

func do[T any](m *Mortal, name string, step func() (T, error)) (T, error) {
	if err := m.next(name); err != nil {
		var none T
		return none, err
	}
	return step()
}

func just(m *Mortal, name string, step func() error) error {
	if err := m.next(name); err != nil {
		return err
	}
	return step()
}

type mortalDocuments struct {
	s *mongo.Store
	m *Mortal
}

func (d mortalDocuments) OfReport(ctx context.Context, scope authn.LabScope, id int64) ([]rerun.Record, error) {
	return do(d.m, "read records", func() ([]rerun.Record, error) { return d.s.OfReport(ctx, scope, id) })
}

func (d mortalDocuments) Values(ctx context.Context, scope authn.LabScope, id int64) ([]rerun.Value, error) {
	return do(d.m, "read values", func() ([]rerun.Value, error) { return d.s.Values(ctx, scope, id) })
}

func (d mortalDocuments) Insert(ctx context.Context, r rerun.Record) error {
	return just(d.m, "insert record", func() error { return d.s.Insert(ctx, r) })
}

// InsertValues can die between any two documents: the store inserts them one after the other.
func (d mortalDocuments) InsertValues(ctx context.Context, values []rerun.Value) error {
	if err := d.m.next("insert values"); err != nil {
		return err
	}
	if len(values) > 1 && d.m.next("insert second value") != nil {
		_ = d.s.InsertValues(ctx, values[:1])
		return ErrDead
	}
	return d.s.InsertValues(ctx, values)
}

func (d mortalDocuments) ReplaceValue(ctx context.Context, scope authn.LabScope, v rerun.Value) error {
	return just(d.m, "replace value", func() error { return d.s.ReplaceValue(ctx, scope, v) })
}

func (d mortalDocuments) Close(ctx context.Context, scope authn.LabScope, id string) error {
	return just(d.m, "close slot", func() error { return d.s.Close(ctx, scope, id) })
}

func (d mortalDocuments) Retire(ctx context.Context, scope authn.LabScope, id string) error {
	return just(d.m, "retire record", func() error { return d.s.Retire(ctx, scope, id) })
}

func (d mortalDocuments) Delete(ctx context.Context, scope authn.LabScope, ids ...string) error {
	return just(d.m, "delete records", func() error { return d.s.Delete(ctx, scope, ids...) })
}

func (d mortalDocuments) DeleteValues(ctx context.Context, scope authn.LabScope, ids []string) error {
	return just(d.m, "delete values", func() error { return d.s.DeleteValues(ctx, scope, ids) })
}

type mortalFlags struct {
	s *mysql.Store
	m *Mortal
}

func (f mortalFlags) Flag(ctx context.Context, scope authn.LabScope, id int64) (rerun.Flag, error) {
	return do(f.m, "read flag again", func() (rerun.Flag, error) { return f.s.Flag(ctx, scope, id) })
}

type mortalCache struct {
	s *openset.OpenSet
	m *Mortal
}

func (c mortalCache) Set(ctx context.Context, scope authn.LabScope, id int64, open bool) error {
	return just(c.m, "cache", func() error { return c.s.Set(ctx, scope, id, open) })
}

// whole is everything that a locked report can do.
type whole interface {
	closing.Locked
	receive.Evidence
}

type mortalLocked struct {
	whole
	m *Mortal
}

func (l mortalLocked) Parameters(ctx context.Context) ([]rerun.Parameter, error) {
	return do(l.m, "read parameters", func() ([]rerun.Parameter, error) { return l.whole.Parameters(ctx) })
}

func (l mortalLocked) Ledger(ctx context.Context) (rerun.Ledger, error) {
	return do(l.m, "read ledger", func() (rerun.Ledger, error) { return l.whole.Ledger(ctx) })
}

func (l mortalLocked) SetFlag(ctx context.Context, to rerun.Flag) error {
	return just(l.m, "set flag", func() error { return l.whole.SetFlag(ctx, to) })
}

func (l mortalLocked) Log(ctx context.Context, e activitylog.Entry) (int64, error) {
	return do(l.m, "log", func() (int64, error) { return l.whole.Log(ctx, e) })
}

func (l mortalLocked) Results(ctx context.Context) ([]rerun.Result, error) {
	return do(l.m, "read results", func() ([]rerun.Result, error) { return l.whole.Results(ctx) })
}

func (l mortalLocked) Replace(ctx context.Context, gone, confirmed []rerun.Result) error {
	return just(l.m, "replace results", func() error { return l.whole.Replace(ctx, gone, confirmed) })
}

func (l mortalLocked) Unsign(ctx context.Context) error {
	return just(l.m, "clear signature", func() error { return l.whole.Unsign(ctx) })
}

func (l mortalLocked) Send(ctx context.Context, e outbox.Event) error {
	return just(l.m, "outbox row", func() error { return l.whole.Send(ctx, e) })
}

// work is a transaction of a mortal process: it may die before it commits.
func work(m *Mortal, l any, do func(mortalLocked) error) error {
	if err := do(mortalLocked{l.(whole), m}); err != nil {
		return err
	}
	return m.next("commit")
}

type mortalRequests struct {
	mysql.Requests
	m *Mortal
}

func (r mortalRequests) Lock(ctx context.Context, scope authn.LabScope, id int64, do func(request.Locked) error) error {
	return just(r.m, "lock row", func() error {
		return r.Requests.Lock(ctx, scope, id, func(l request.Locked) error {
			return work(r.m, l, func(l mortalLocked) error { return do(l) })
		})
	})
}

func (r mortalRequests) LogFailure(ctx context.Context, scope authn.LabScope, id int64, e activitylog.Entry) error {
	return just(r.m, "log failure", func() error { return r.Requests.LogFailure(ctx, scope, id, e) })
}

type mortalReceipts struct {
	mysql.Receipts
	m *Mortal
}

func (r mortalReceipts) Lock(ctx context.Context, scope authn.LabScope, id int64, do func(receive.Locked) error) error {
	return just(r.m, "lock row", func() error {
		return r.Receipts.Lock(ctx, scope, id, func(l receive.Locked) error {
			return work(r.m, l, func(l mortalLocked) error { return do(l) })
		})
	})
}

type mortalClosings struct {
	mysql.Closings
	m *Mortal
}

func (r mortalClosings) Lock(ctx context.Context, scope authn.LabScope, id int64, do func(closing.Locked) error) error {
	return just(r.m, "lock row", func() error {
		return r.Closings.Lock(ctx, scope, id, func(l closing.Locked) error {
			return work(r.m, l, func(l mortalLocked) error { return do(l) })
		})
	})
}
