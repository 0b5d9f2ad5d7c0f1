// Package enginetest provides the stores of the pipeline on real engines to tests, each with its own database and index
// names. Pump replaces connectors and brokers: it writes the rows of user_meta to the index.
package enginetest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	searchtest "github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

var template = mysqltest.Template{Platform: mysql.SourceColumns(), Schemas: migrations.Schemas()}

// Platform is the database and the index of one test.
type Platform struct {
	DB     *sql.DB
	Rows   *mysql.Store
	Users  *materialize.Recomputer
	Index  *searchtest.Server
	Writer *indexsync.Writer
	maker  *document.Maker
	t      testing.TB
}

// New returns a platform with an empty database and the first index.
func New(t testing.TB) *Platform {
	t.Helper()
	db := template.New(t)
	rows := mysql.New(mysql.Deps{DB: db, Clock: clock.System{}, Phases: running{}})
	index := searchtest.Ensured(t)
	return &Platform{
		DB:    db,
		Rows:  rows,
		Index: index,
		t:     t,
		maker: document.NewMaker(document.RevVersions{}),
		Users: materialize.NewRecomputer(
			materialize.Deps{Store: rows, Late: nobody{}, Observer: nobody{}, Config: materialize.DefaultConfig()}),
		Writer: indexsync.NewWriter(indexsync.WriterDeps{
			Index:    index,
			Observer: nobody{},
			Clock:    clock.System{},
			Jitter:   func() float64 { return 1 },
			Config: indexsync.WriterConfig{
				Operations: 1000,
				Bytes:      5 << 20,
				Concurrent: 4,
				FirstRetry: 10 * time.Millisecond,
				MaxRetry:   100 * time.Millisecond,
				Patience:   5 * time.Second,
			},
		}),
	}
}

// Exec executes a statement in the database.
func (p *Platform) Exec(query string, args ...any) {
	p.t.Helper()
	if _, err := p.DB.ExecContext(p.t.Context(), query, args...); err != nil {
		p.t.Fatal(err)
	}
}

// Patients inserts patients from to to of a laboratory, with one bill each, and computes their rows.
func (p *Platform) Patients(lab, from, to int64) {
	p.t.Helper()
	p.Exec("INSERT INTO userDetails (id, labId_id, labPatientId, fullName, contact, dateOfBirth)"+
		" SELECT seq, ?, CONCAT('P-', seq), CONCAT('Patient ', seq), 9800000000 + seq, '1990-02-11' FROM "+mysqltest.Numbers(int(to))+" WHERE seq >= ?", lab, from)
	p.Exec(
		"INSERT INTO billing (labId_id, labBillId, orderNumber, userDetailsId_id) SELECT ?, seq, CONCAT('ord-', seq), seq FROM "+
			mysqltest.Numbers(int(to))+" WHERE seq >= ?",
		lab,
		from,
	)
	var ids []int64
	for id := from; id <= to; id++ {
		ids = append(ids, id)
	}
	p.Recompute(ids...)
}

// Recompute recomputes rows, as events about their sources would.
func (p *Platform) Recompute(ids ...int64) {
	p.t.Helper()
	targets := make([]materialize.Target, len(ids))
	for i, id := range ids {
		targets[i].UserID = id
	}
	if _, err := p.Users.Recompute(p.t.Context(), targets); err != nil {
		p.t.Fatal(err)
	}
}

// Pump writes all rows to target, as their events would.
func (p *Platform) Pump(target string) {
	p.t.Helper()
	if err := p.PumpTo(p.t.Context(), target); err != nil {
		p.t.Fatal(err)
	}
}

// PumpTo writes all rows to targets and returns errors, so that goroutines can call it.
func (p *Platform) PumpTo(ctx context.Context, targets ...string) error {
	for after := int64(0); ; {
		ids, err := p.Rows.UserIDs(ctx, after, 1000)
		if err != nil || len(ids) == 0 {
			return err
		}
		rows, err := p.Rows.RowsByID(ctx, ids)
		if err != nil {
			return err
		}
		for _, target := range targets {
			to, err := p.Index.Target(ctx, target)
			if err != nil {
				return err
			}
			if _, err := p.Writer.Write(ctx, to.Alias, operations(p.maker.Of(to.Schema), rows)); err != nil {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
}

func operations(maker *document.Maker, rows []projection.Row) []document.Op {
	var ops []document.Op
	for i := range rows {
		ops = append(ops, maker.Write(&rows[i])...)
	}
	return ops
}

// running is a phase source that always returns Running.
type running struct{}

func (running) Phase(context.Context) (phase.Phase, error)       { return phase.Running, nil }
func (running) Check(context.Context) (phase.Phase, bool, error) { return phase.Running, false, nil }

// An observer that ignores all events.
type nobody struct{}

func (nobody) Add([]int64)             {}
func (nobody) Recomputed(_, _, _ int)  {}
func (nobody) Early(int)               {}
func (nobody) Late(int)                {}
func (nobody) Sent(int, time.Duration) {}
func (nobody) Resent(int, string)      {}
